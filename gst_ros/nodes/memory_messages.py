"""The state of the memory as messages: ``MemoryStatus`` and ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from gst_interfaces.msg import MemoryStatus
from gst_ros.nodes.image_messages import ns_to_stamp
from gst_ros.reasoning.engine import MemoryState


def status_message(state: MemoryState, now: Time) -> MemoryStatus:
    """The state as ``MemoryStatus``; stamps are zero while there are no frames."""
    message = MemoryStatus(
        answerer=state.answerer,
        clip_id=state.clip_id,
        frames_received=state.frames_received,
        frames_out_of_order=state.frames_out_of_order,
        frames_duplicate=state.frames_duplicate,
        frames_dropped=state.frames_dropped,
        first_stamp=ns_to_stamp(state.first_stamp_ns or 0),
        last_stamp=ns_to_stamp(state.last_stamp_ns or 0),
        stamps_sha256=state.stamps_sha256,
        keyframes=state.keyframes,
        keyframe_bytes=state.keyframe_bytes,
        keyframe_bytes_limit=state.keyframe_bytes_limit,
        questions_answered=state.questions_answered,
        questions_failed=state.questions_failed,
        questions_pending=state.questions_pending,
    )
    message.header.stamp = now
    return message


def diagnostics_message(
    node_name: str, state: MemoryState, intake: Mapping[str, Any], troubles: Sequence[str], now: Time
) -> DiagnosticArray:
    """The state in the form that ``rqt_robot_monitor`` and the diagnostic aggregator read.

    Args:
        node_name: Whose state it is; also the hardware id.
        state: What the memory holds.
        intake: Further values about the frames' way in.
        troubles: Present warnings; the first becomes the message.
        now: Time of the message.
    """
    frames = DiagnosticStatus(
        level=DiagnosticStatus.WARN if troubles else DiagnosticStatus.OK,
        name=f"{node_name}: frames",
        message=troubles[0] if troubles else f"{state.frames_received} frames taken in",
        hardware_id=node_name,
        values=_values(
            {
                **intake,
                "clip": state.clip_id,
                "frames received": state.frames_received,
                "frames out of order": state.frames_out_of_order,
                "frames duplicate": state.frames_duplicate,
                "frames dropped": state.frames_dropped,
                **{f"trouble {number}": text for number, text in enumerate(troubles, start=1)},
            }
        ),
    )
    memory = DiagnosticStatus(
        level=DiagnosticStatus.OK,
        name=f"{node_name}: memory",
        message=f"{state.keyframes} keyframes, {state.keyframe_bytes / 1e6:.1f} of "
        f"{state.keyframe_bytes_limit / 1e6:.1f} MB",
        hardware_id=node_name,
        values=_values(
            {
                "keyframes": state.keyframes,
                "keyframe bytes": state.keyframe_bytes,
                "keyframe bytes limit": state.keyframe_bytes_limit,
            }
        ),
    )
    answers = DiagnosticStatus(
        level=DiagnosticStatus.WARN if state.questions_failed else DiagnosticStatus.OK,
        name=f"{node_name}: answers",
        message=f"{state.questions_answered} answered, {state.questions_failed} failed, "
        f"{state.questions_pending} pending",
        hardware_id=node_name,
        values=_values(
            {
                "answerer": state.answerer,
                "questions answered": state.questions_answered,
                "questions failed": state.questions_failed,
                "questions pending": state.questions_pending,
            }
        ),
    )
    array = DiagnosticArray(status=[frames, memory, answers])
    array.header.stamp = now
    return array


def _values(items: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=str(value)) for key, value in items.items()]
