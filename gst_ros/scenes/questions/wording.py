"""The prompts, in words of our own: the information and the answer formats of the official ones.

The parts of a prompt interleave with its media: first text, the video, next text, an image, and so on.
"""

from __future__ import annotations

VIDEO = "Earlier you explored this scene. Here is the video of your walk through it:"
CLIP = "Here is a video of a part of your walk through this scene:"
VIEW = "This is what you see now:"
PLAN = "This is the scene seen from straight above:"
LETTERS = "ABCD"

MARKED = "the object that is marked with a red box in the video"

_PLURALS = ("flowers",)

_POINT_FORM = (
    "Use coordinates that run from 0 to 999 over the whole image, x to its right and y to its bottom, "
    "and answer with <point>x y</point> and nothing else."
)


def named(label: str) -> str:
    """How a question speaks of an object that is unique by its label."""
    return f"the {label}"


def direction(target: str) -> tuple[str, str]:
    """Text between video and view, and the question, of an egocentric direction.

    Args:
        target: :data:`MARKED`, or what :func:`named` returns.
    """
    return VIEW, (
        f"In which direction from you {_is(target)} {target}? The direction in which you are looking now is 0°, "
        "turning left counts as positive. Give only the angle, as an integer between –180° and 180°, "
        'without the "°" symbol.'
    )


def distance(target: str) -> tuple[str, str]:
    """Text between video and view, and the question, of an egocentric distance."""
    return VIEW, (
        f"How many meters away from you {_is(target)} {target}, measured horizontally to the middle of it? "
        'Give only the number, rounded to one decimal place, without the "m" suffix.'
    )


def object_position(target: str) -> tuple[str, str]:
    """Text between video and plan, and the question, of an object's position."""
    return PLAN, f"Where on this top-down image {_is(target)} {target}?\n{_POINT_FORM}"


def own_position() -> tuple[str, str, str]:
    """Texts after the video of a self localisation."""
    return VIEW, PLAN, f"At which point of this top-down image are you now?\n{_POINT_FORM}"


def own_orientation() -> tuple[str, str, str]:
    """Texts after the video of a question for the view direction on a plan."""
    return (
        VIEW,
        PLAN,
        (
            "In which direction are you looking on this top-down image? The top of the image is 0°, turning left "
            "(counter-clockwise) counts as positive. Give only the angle, as an integer between –180° and 180°, "
            'without the "°" symbol.'
        ),
    )


def selection() -> tuple[str, ...]:
    """Texts after the video of a choice among four top-down images."""
    return _options("Which of these four images comes closest to the whole scene seen from straight above?")


def path_selection() -> tuple[str, ...]:
    """Texts after the clip of a choice among four paths."""
    return _options(
        "Each of these four plans shows a path in red; the blue dot is where it starts. Which of the paths is the one "
        "walked in the video?"
    )


def _options(question: str) -> tuple[str, ...]:
    first = f"{question} Answer with the letter of the option alone.\n{LETTERS[0]}."
    return (first, *(f"\n{letter}." for letter in LETTERS[1:]))


def _is(target: str) -> str:
    return "are" if target.endswith(_PLURALS) else "is"
