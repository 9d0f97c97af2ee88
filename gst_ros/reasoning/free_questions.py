"""Questions in people's own words, as far as the map can answer them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gst_ros.errors import AnswererError

WHERE_AM_I, HEADING, DIRECTION, DISTANCE, PLACE, WHICH_PLAN = (
    "where am I",
    "which way am I looking",
    "in which direction is the marked object",
    "how far is the marked object",
    "where on the plan is the marked object",
    "which plan is this",
)
KNOWN = (WHERE_AM_I, HEADING, DIRECTION, DISTANCE, PLACE, WHICH_PLAN)
TASKS = {
    WHERE_AM_I: "position",
    HEADING: "orientation",
    DIRECTION: "ed_v",
    DISTANCE: "edist_v",
    PLACE: "gp_v",
    WHICH_PLAN: "tds_medium",
}

_MARKED = r"\b(marked|mark|red box|red rectangle|boxed)\b"
_PATTERNS: Sequence[tuple[str, str]] = (
    (r"\b(which|what) (\w+ )?(plan|map|floor ?plan|option|image|picture)\b", WHICH_PLAN),
    (r"\b(where|position|location)\b.*\b(am i|are we|i am|my)\b|\bmy (position|location)\b|\bwhere am i\b", WHERE_AM_I),
    (r"\b(heading|facing|orientation)\b|\b(which|what) (way|direction)\b.*\b(am i|are we|i) (look|fac)", HEADING),
    (rf"(\bplan\b|\bmap\b).*{_MARKED}|{_MARKED}.*(\bplan\b|\bmap\b)", PLACE),
    (rf"(\bhow far\b|\bdistance\b|\bhow many met).*{_MARKED}|{_MARKED}.*(\bhow far\b|\bdistance\b)", DISTANCE),
    (rf"(\bwhere\b|\bdirection\b|\bwhich way\b|\bfind\b).*{_MARKED}|{_MARKED}.*\b(where|direction)\b", DIRECTION),
)


def understand(question: str) -> str:
    """Which of the known questions is meant.

    Args:
        question: In English.

    Raises:
        AnswererError: None of them, as of an object by its name.
    """
    words = " ".join(question.lower().split())
    for pattern, meaning in _PATTERNS:
        if re.search(pattern, words):
            return meaning
    raise AnswererError(
        f"'{question[:80]}' is not understood", remedy=f"ask one of: {'; '.join(KNOWN)} (objects have no names yet)"
    )


def spoken_direction(angle_deg: float) -> str:
    """A direction in words: 0 is ahead, left is positive.

    Args:
        angle_deg: In [-180, 180].
    """
    size = abs(angle_deg)
    if size <= 15:
        return "straight ahead"
    if size >= 165:
        return "behind"
    side = "left" if angle_deg > 0 else "right"
    if size < 60:
        return f"ahead on the {side}"
    return f"on the {side}" if size <= 120 else f"behind on the {side}"
