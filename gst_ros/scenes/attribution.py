"""Who made the furniture that a set shows, and under which licence: the file that goes with its pictures."""

from __future__ import annotations

from collections.abc import Iterable

from gst_ros.scenes.catalogue import Catalogue
from gst_ros.scenes.place import Place
from gst_ros.scenes.rendering.builtin import PREFIX

FILE_NAME = "ATTRIBUTION.txt"
LICENCE_TEXTS = {
    "CC0-1.0": "CC0 1.0 Universal, https://creativecommons.org/publicdomain/zero/1.0/ (no attribution is required)",
    "CC-BY-3.0": "Creative Commons Attribution 3.0, https://creativecommons.org/licenses/by/3.0/",
    "CC-BY-3.0-US": "Creative Commons Attribution 3.0 United States, https://creativecommons.org/licenses/by/3.0/us/",
}


def attribution(places: Iterable[Place], catalogue: Catalogue | None) -> str:
    """The text of the file.

    Args:
        places: What the pictures show.
        catalogue: Where their furniture comes from; None for built-in things alone.

    Returns:
        Text that lists each model once, by licence, with its author.
    """
    used = sorted({thing.model for place in places for thing in place.objects if not thing.model.startswith(PREFIX)})
    intro = [
        "The pictures and videos of this set were rendered by gst_ros. Rooms, surfaces, paintings and simple furniture",
        "are its own work and carry no conditions.",
    ]
    if catalogue is None or not used:
        return "\n".join([*intro, "They show nothing else."]) + "\n"
    lines = [*intro, "They also show these furniture models of Sweet Home 3D's catalogues, scaled, recoloured and with"]
    lines.append("their heaviest meshes simplified:")
    models = [catalogue.model(name) for name in used]
    for licence in sorted({model.licence for model in models}):
        lines += ["", f"{licence}: {LICENCE_TEXTS[licence]}", ""]
        lines += [
            f"  {model.name}, by {model.creator or 'an unnamed author'} ({model.model_id})"
            for model in models
            if model.licence == licence
        ]
    return "\n".join(lines) + "\n"
