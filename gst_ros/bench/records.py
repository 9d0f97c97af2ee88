"""The run folder as its writer sees it: appended to, flushed to the disk, locked, and never lost.

An answer is on the disk when :meth:`RunFolder.append_answer` returns. Whatever kills the process afterwards,
the next one finds it and does not ask that question again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any

from gst_ros.bench.questions import Skipped
from gst_ros.bench.run_data import (
    HEADER_FILE,
    RECORDS_FILE,
    SUMMARY_FILE,
    AnswerRecord,
    RunData,
    RunHeader,
    is_run,
    plain,
    read_run,
    refuse_no_file,
    whole_object,
)
from gst_ros.errors import DiskError, RunError

__all__ = ["AnswerRecord", "RunData", "RunFolder", "RunHeader", "is_run", "not_written", "read_run", "write_atomically"]

log = logging.getLogger(__name__)

TORN_FILE = "records.torn"
"""Half lines that a killed writer left behind are moved here."""
LOCK_FILE = ".lock"
_DISK_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class RunFolder:
    """A run folder opened for writing. Use :meth:`open`; it is a context manager.

    Attributes:
        path: The folder.
        header: What this run is made with.
    """

    def __init__(self, path: Path, header: RunHeader, lock: int) -> None:
        """Take over a folder that is locked already; for :meth:`open`."""
        self.path = path
        self.header = header
        self._lock = lock
        self._data = RunData(path, header)
        self._stream = -1

    @classmethod
    def open(cls, path: str | Path, header: RunHeader, resume: bool = False) -> RunFolder:
        """Create a run folder, or go on with one.

        Args:
            path: The folder; made if it is missing.
            header: What the run is made with.
            resume: Go on with the run that is in the folder. Without one in it, a new run begins.

        Raises:
            RunError: The folder holds a run (and not ``resume``) or other files, another process writes to it,
                the run was made with other settings or questions, or its records are damaged.
        """
        path = Path(os.path.abspath(path))
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise not_written(error, path) from error
        run = cls(path, header, lock)
        try:
            _lock(path, lock)
            run._begin(resume)
        except OSError as error:
            run.close()
            raise not_written(error, Path(error.filename or path)) from error
        except BaseException:
            run.close()
            raise
        return run

    @property
    def answered(self) -> dict[str, AnswerRecord]:
        """The questions that are answered and must not be asked again, by uid."""
        return self._data.answered

    @property
    def data(self) -> RunData:
        """All that the folder holds, as :func:`read_run` gives it, without reading it again."""
        skipped = [skip for skip in self._data.skipped if skip.field == "uid" or skip.uid not in self._data.answers]
        return RunData(
            self.path, self.header, dict(self._data.answers), skipped, list(self._data.videos), list(self._data.events)
        )

    def append_answer(self, record: AnswerRecord) -> None:
        """Record one answer; it is on the disk when this returns.

        Raises:
            ValueError: The question is answered already (a defect of the caller).
            RunError: It cannot be written (disk full, ...); nothing of it is left in the file.
        """
        before = self._data.answers.get(record.uid)
        if before is not None and before.status == "answered":
            raise ValueError(f"{record.uid} is answered already; it must not be asked twice")
        self._append("answer", {f.name: getattr(record, f.name) for f in fields(record)})
        self._data.answers.pop(record.uid, None)
        self._data.answers[record.uid] = record

    def append_skip(self, skip: Skipped) -> None:
        """Record a question that is not asked; a second time, after a resume, changes nothing.

        Raises:
            RunError: It cannot be written.
        """
        if skip not in self._data.skipped:
            # Found again on every start, so it can wait for the next answer to go to the disk.
            self._append("skip", skip.to_json(), sync=False)
            self._data.skipped.append(skip)

    def append_video(self, playback: Mapping[str, Any]) -> None:
        """Record how a video went through (the fields of ``Playback``).

        Raises:
            RunError: It cannot be written.
        """
        self._data.videos.append(self._append("video", playback))

    def append_event(self, event: Mapping[str, Any]) -> None:
        """Record anything else that a reader should know, with the time.

        Raises:
            RunError: It cannot be written.
        """
        self._data.events.append(self._append("event", event))

    def write_summary(self, summary: Mapping[str, Any]) -> Path:
        """Write ``summary.json``, whole or not at all.

        Raises:
            RunError: It cannot be written.
        """
        file = self.path / SUMMARY_FILE
        write_atomically(file, json.dumps(plain(summary), indent=1, allow_nan=False) + "\n")
        return file

    def close(self) -> None:
        """Release the folder. May be called twice."""
        for handle in (self._stream, self._lock):
            if handle >= 0:
                os.close(handle)
        self._stream = self._lock = -1

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, resume: bool) -> None:
        resuming = is_run(self.path)
        if resuming:
            if not resume:
                raise RunError("holds a run already", file=self.path, remedy="resume it, or choose another --output")
            self._mend()
            data = read_run(self.path)
            differences = data.header.differences(self.header)
            if differences:
                more = f" (and {len(differences) - 3} more)" if len(differences) > 3 else ""
                raise RunError(
                    f"the run was made with other settings: {'; '.join(differences[:3])}{more}",
                    file=self.path / HEADER_FILE,
                    remedy="use the same settings and questions, or choose another --output",
                )
            event = {"event": "resumed", "answered": len(data.answered), "info": self.header.info}
            self._data = data
            self.header = data.header
        else:
            self._refuse_other_files()
            # Written before any record, so that a run that was killed at any moment says what it is.
            write_atomically(
                self.path / HEADER_FILE, json.dumps(self.header.to_json(), indent=1, allow_nan=False) + "\n"
            )
            event = {"event": "started"}
        self._stream = os.open(self.path / RECORDS_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        _sync_folder(self.path)
        self.append_event({**event, "pid": os.getpid(), "host": socket.gethostname()})

    def _refuse_other_files(self) -> None:
        ours = {LOCK_FILE, TORN_FILE, "logs", "params"}
        strangers = [p.name for p in self.path.iterdir() if p.name not in ours and not p.name.startswith(".tmp-")]
        if strangers:
            raise RunError(
                f"is not empty and holds no run (there is '{sorted(strangers)[0]}')",
                file=self.path,
                remedy="choose another --output",
            )

    def _mend(self) -> None:
        """Make the records end with a whole line; what is torn off is kept in a file of its own."""
        file = self.path / RECORDS_FILE
        refuse_no_file(file)
        if not file.exists():
            return
        with file.open("r+b") as stream:
            content = stream.read()
            start = content.rfind(b"\n") + 1
            tail = content[start:]
            if not tail:
                return
            if whole_object(tail) is not None:
                stream.write(b"\n")
            else:
                with (self.path / TORN_FILE).open("ab") as torn:
                    torn.write(tail + b"\n")
                    torn.flush()
                    os.fsync(torn.fileno())
                log.warning("%s: the last line was torn (%d bytes); moved to %s", file, len(tail), TORN_FILE)
                stream.truncate(start)
            stream.flush()
            os.fsync(stream.fileno())

    def _append(self, kind: str, record: Mapping[str, Any], sync: bool = True) -> dict[str, Any]:
        """Write one line to the disk and return it as it would be read back (without its kind)."""
        if self._stream < 0:
            raise ValueError("the run folder is closed")
        entry: dict[str, Any] = {"time": _now(), **plain(record)}
        # ASCII only: a torn line never ends inside a letter, and broken Unicode in an answer can be kept.
        line = json.dumps({"kind": kind, **entry}, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"
        length = os.fstat(self._stream).st_size
        try:
            written = os.write(self._stream, line)
            while written < len(line):
                written += os.write(self._stream, line[written:])
            if sync:
                os.fsync(self._stream)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._stream, length)
            raise not_written(error, self.path / RECORDS_FILE, "a record cannot be written") from error
        return entry


def write_atomically(file: Path, text: str) -> None:
    """Write a text file whole or not at all, also when the machine stops in the middle.

    Raises:
        RunError: It cannot be written.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
            os.fchmod(stream.fileno(), 0o644)
        os.replace(temporary, file)
        _sync_folder(file.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise not_written(error, file) from error


def not_written(error: OSError, file: Path, problem: str = "cannot be written") -> RunError:
    """The error to raise: a full or failing disk is nothing that the user wrote wrongly, so it has its own."""
    problem = f"{problem}: {error.strerror or error}"
    if error.errno in _DISK_FAILS:
        remedy = "what is recorded is kept; free disk space, then give the same command again"
        return DiskError(problem, file=file, remedy=remedy)
    return RunError(problem, file=file, remedy="choose another --output, or correct what is in the way")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def _sync_folder(path: Path) -> None:
    """Put the folder's list of files on the disk, where the file system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _lock(path: Path, handle: int) -> None:
    """Take the folder's lock; it goes with the process, however that ends.

    Raises:
        RunError: Another process holds it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            log.warning("%s: this file system has no locks; make sure that no other process writes there", path)
            return
        owner = os.pread(handle, 200, 0).decode("ascii", "replace").strip()
        raise RunError(
            f"another process writes to this run ({owner or 'unknown'})",
            file=path,
            remedy="wait for it, or choose another --output",
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"pid {os.getpid()} on {socket.gethostname()}".encode("ascii", "replace"), 0)
