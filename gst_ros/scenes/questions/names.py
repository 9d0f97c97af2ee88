"""Which labels name one object of a place without doubt.

A label must belong to one object, and no other object may be one that people call by the same name or would mistake
for it: with a chair and an office chair in the place, "the chair" is not asked for.
"""

from __future__ import annotations

from collections import Counter

from gst_ros.scenes.place import Place

# Labels of one line are taken for each other. A label may be in several lines.
_LOOK_ALIKE = (
    ("chair", "office chair", "folding chair", "child chair", "high chair", "garden chair", "armchair"),
    ("stool", "bar stool", "ottoman"),
    ("bench", "garden bench"),
    ("sofa", "corner sofa", "armchair"),
    ("dining table", "round table", "conference table", "folding table", "desk", "workbench", "table", "garden table"),
    ("coffee table", "bedside table", "children table", "table"),
    ("bar table", "round table", "table"),
    ("desk", "dressing table"),
    ("bookcase", "shelf", "display cabinet"),
    ("wardrobe", "high cabinet", "locker", "cabinet", "refrigerator"),
    ("dresser", "chest", "tv stand", "sideboard", "cabinet", "bedside table", "filing cabinet"),
    ("safe", "filing cabinet", "locker"),
    ("cardboard box", "crate", "chest", "laundry basket"),
    ("bed", "bunk bed", "child bed", "hospital bed", "crib"),
    ("refrigerator", "freezer"),
    ("stove", "oven", "microwave"),
    ("lower cabinet", "upper cabinet", "high cabinet", "kitchen island", "counter", "cabinet", "sink"),
    ("washing machine", "dryer"),
    ("coffee machine", "toaster", "blender", "kettle", "teapot"),
    ("pan", "bowl", "fruit bowl", "place setting"),
    ("bottle", "vase"),
    ("sink", "washbasin", "vanity"),
    ("bathtub", "corner bathtub", "shower"),
    ("toilet", "bidet", "urinal", "potty"),
    ("tv", "wall tv", "computer", "laptop", "projector"),
    ("radio", "stereo", "speaker"),
    ("table lamp", "desk lamp", "lamp post", "floor lamp", "candle"),
    ("ceiling lamp", "pendant lamp", "chandelier", "ceiling light"),
    ("table fan", "ceiling fan"),
    ("plant", "small plant", "flowers", "bush", "flower box", "tree", "conifer", "christmas tree", "vase"),
    ("hedge", "bush"),
    ("rug", "round rug", "bath mat", "doormat"),
    ("clock", "cuckoo clock"),
    ("picture", "painting", "mirror", "whiteboard", "board", "blackboard", "notice board"),
    ("grand piano", "upright piano"),
    ("pool table", "football table", "table tennis table"),
    ("treadmill", "exercise bike", "fitness tower"),
    ("suitcase", "backpack", "handbag"),
    ("basketball", "soccer ball"),
    ("trash can", "umbrella stand", "laundry basket", "barrel"),
    ("step ladder", "clothes horse", "clothes rack", "towel rack"),
    ("garden umbrella", "umbrella stand"),
    ("sun lounger", "garden chair", "garden bench"),
    ("rock", "stone lantern"),
    ("radiator", "air conditioner", "water heater"),
)


def look_alikes(label: str) -> frozenset[str]:
    """The labels that are taken for a label, itself included."""
    return frozenset({label}).union(*(line for line in _LOOK_ALIKE if label in line))


def unique_labels(place: Place) -> frozenset[str]:
    """Labels that one object of a place has, and that fit no other one.

    Args:
        place: The place; things that no question asks for count too.
    """
    counts = Counter(thing.label for thing in place.objects)
    return frozenset(
        label for label, count in counts.items() if count == 1 and not (look_alikes(label) - {label}) & counts.keys()
    )
