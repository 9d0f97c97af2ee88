"""Questions are answered one after another in a thread of their own, so that a slow one delays nothing else."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.task import Future

from gst_ros.errors import AnswererError
from gst_ros.evaluation.session import Reply, reply_of
from gst_ros.reasoning.answerer import Answer, Query


@dataclass(eq=False)
class _Ticket:
    query: Query
    future: Future[Any]
    executor: Any
    taken_s: float = field(default_factory=time.monotonic)


class AnswerDesk:
    """A bounded queue of questions before one answering thread.

    Args:
        answer: Answers one query or raises :class:`AnswererError`.
        limit: How many questions may wait or be under way.
        log_defect: Told the traceback when ``answer`` raises anything else.
        on_unanswered: Called for each question that was cancelled before its turn came.
    """

    def __init__(
        self,
        answer: Callable[[Query], Answer],
        limit: int,
        log_defect: Callable[[str], object],
        on_unanswered: Callable[[], None],
    ) -> None:
        self._answer = answer
        self._limit = limit
        self._log_defect = log_defect
        self._on_unanswered = on_unanswered
        self._lock = threading.Lock()
        self._open: list[_Ticket] = []
        self._queue: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        # A daemon: the process must be able to end while an answerer is still busy.
        self._thread = threading.Thread(target=self._work, name="answering", daemon=True)
        self._thread.start()

    @property
    def pending(self) -> int:
        """Questions that wait or are being answered, and are not cancelled."""
        with self._lock:
            return len(self._open)

    def submit(self, query: Query, executor: Any) -> Future[Any]:
        """Queue one question.

        Args:
            query: The question.
            executor: The executor in which the returned future is awaited.

        Returns:
            A future that becomes a :class:`Reply`, at once if the queue is full.
        """
        ticket = _Ticket(query, Future(executor=executor), executor)
        with self._lock:
            full = len(self._open) >= self._limit
            if not full:
                self._open.append(ticket)
                self._queue.put(ticket)
        if full:
            problem = f"{self._limit} questions are waiting already (ask again later, or raise question_limit)"
            ticket.future.set_result(_failed(problem, ticket))
        return ticket.future

    def cancel_all(self, reason: str) -> None:
        """Answer all open questions as failed, also the one under way (what comes of it is thrown away)."""
        with self._lock:
            tickets, self._open = self._open, []
        for ticket in tickets:
            _resolve(ticket, _failed(reason, ticket))

    def close(self) -> None:
        """Cancel everything and let the thread end once it is idle."""
        self.cancel_all("the node is going inactive")
        self._queue.put(None)

    def _work(self) -> None:
        while (ticket := self._queue.get()) is not None:
            with self._lock:
                waiting = ticket in self._open
            if not waiting:
                self._on_unanswered()
                continue
            reply = self._reply(ticket)
            with self._lock:
                open_still = ticket in self._open
                if open_still:
                    self._open.remove(ticket)
            if open_still:
                _resolve(ticket, reply)

    def _reply(self, ticket: _Ticket) -> Reply:
        started_s = time.monotonic()
        try:
            answer = self._answer(ticket.query)
        except AnswererError as error:
            return _failed(str(error), ticket, started_s)
        except Exception as error:
            # Whoever asked must hear of it, and the next question must find the desk open.
            self._log_defect(f"question {ticket.query.uid}: {traceback.format_exc()}")
            return _failed(f"{type(error).__name__}: {error} (a defect: see the node's log)", ticket, started_s)
        return reply_of(answer, time.monotonic() - started_s)


def _failed(reason: str, ticket: _Ticket, started_s: float | None = None) -> Reply:
    since = ticket.taken_s if started_s is None else started_s
    return Reply("failed", "", None, reason, time.monotonic() - since)


def _resolve(ticket: _Ticket, reply: Reply) -> None:
    ticket.future.set_result(reply)
    # Setting a result does not wake every version's executor, and it may be asleep. If it is gone, nobody waits.
    with contextlib.suppress(InvalidHandle):
        ticket.executor.wake()
