"""Answers from a file: for dry runs, for tests, and for replaying what another program answered.

The file is one of

- JSON or YAML: a mapping of uid to answer, or a list of records;
- JSON lines: one record per line.

A record has ``uid`` and the answer as ``answer`` or ``pred`` (the official runner's word). Answers are texts
or numbers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gst_ros.config import Settings, setting
from gst_ros.errors import AnswererError, ConfigError
from gst_ros.reasoning.answerer import Answer, Query, Recall
from gst_ros.yaml_files import parse_yaml

ANSWER_FIELDS = ("pred", "answer")
ALL_UIDS = "*"


@dataclass(frozen=True)
class ScriptedConfig(Settings):
    """Settings of :class:`Scripted`."""

    answers_file: str = setting("", "JSON, JSON lines or YAML file with the answers by uid.")
    answer_delay_s: float = setting(0.0, "Time to take over each answer, as a slow model would.", unit="s", low=0.0)
    answer_failures: tuple[str, ...] = setting((), "uids to fail on, as a broken model would; '*' for all.")


class Scripted:
    """Gives the answer that a file has for the question's uid.

    Args:
        config: The file, and optional delay and failures.

    Raises:
        ConfigError: No file is named, or it is missing, malformed, or ambiguous.
    """

    name = "scripted"
    needs_walk = False

    def __init__(self, config: ScriptedConfig) -> None:
        if not config.answers_file:
            raise ConfigError(
                "the scripted answerer needs a file", field="answers_file", remedy="name a JSON, JSONL or YAML file"
            )
        self._config = config
        self._file = Path(config.answers_file).expanduser()
        self._answers = read_answers(self._file)

    def answer(self, query: Query, memory: Recall) -> Answer:
        """Look the answer up; the memory is not looked at.

        Raises:
            AnswererError: The file has no answer for this uid, or the settings say to fail on it.
        """
        if self._config.answer_delay_s:
            time.sleep(self._config.answer_delay_s)
        if query.uid in self._config.answer_failures or ALL_UIDS in self._config.answer_failures:
            raise AnswererError("failed as the setting answer_failures asks", file=f"question {query.uid}")
        try:
            text = self._answers[query.uid]
        except KeyError:
            raise AnswererError(
                f"no answer for uid '{query.uid}'", file=self._file, remedy="add it, or use another answerer"
            ) from None
        return Answer(text, explanation=f"scripted, from {self._file.name}")


def read_answers(file: Path) -> dict[str, str]:
    """Read a file of answers.

    Returns:
        Answer text by uid.

    Raises:
        ConfigError: It names the file, the line or record, and what is wrong.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read: {error.strerror}", file=file, field="answers_file") from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", file=file, field="answers_file") from error
    if file.suffix.lower() == ".jsonl":
        pairs = _record_pairs(_json_lines(text, file), file)
    elif file.suffix.lower() in (".yaml", ".yml"):
        pairs = _document_pairs(parse_yaml(text, file=file), file)
    else:
        pairs = _document_pairs(_json(text, file), file)
    return _collect(pairs, file)


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as written, so that a key given twice is seen."""


def _json(text: str, file: Path) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except (json.JSONDecodeError, RecursionError) as error:
        remedy = "JSON lines need the ending .jsonl, YAML .yaml"
        raise ConfigError(f"is not JSON: {error}", file=file, remedy=remedy) from error


def _json_lines(text: str, file: Path) -> Iterable[Any]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield json.loads(line, object_pairs_hook=_Pairs)
            except (json.JSONDecodeError, RecursionError) as error:
                raise ConfigError(f"is not JSON: {error}", file=f"{file}:{number}") from error


def _document_pairs(document: Any, file: Path) -> Iterable[tuple[Any, Any]]:
    if isinstance(document, _Pairs):
        return document
    if isinstance(document, dict):
        return list(document.items())
    if isinstance(document, list):
        return _record_pairs(document, file)
    raise ConfigError("holds neither a mapping of uid to answer nor a list of records", file=file)


def _record_pairs(records: Iterable[Any], file: Path) -> Iterable[tuple[Any, Any]]:
    for number, item in enumerate(records, start=1):
        record = dict(item) if isinstance(item, (_Pairs, dict)) else None
        if record is None or "uid" not in record:
            raise ConfigError(f"record {number} has no uid", file=file, field="uid")
        answer_field = next((name for name in ANSWER_FIELDS if name in record), None)
        if answer_field is None:
            raise ConfigError(f"record {number} ('{record['uid']}') has no answer", file=file, field="answer")
        yield record["uid"], record[answer_field]


def _collect(pairs: Iterable[tuple[Any, Any]], file: Path) -> dict[str, str]:
    answers: dict[str, str] = {}
    for uid, value in pairs:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            hint = "in YAML, bare y/n/on/off are booleans: quote them" if isinstance(value, bool) else "give a text"
            kind = "null" if value is None else type(value).__name__.strip("_").lower()
            raise ConfigError(f"the answer is a {kind}, not a text or number", file=file, field=str(uid), remedy=hint)
        if answers.get(str(uid), str(value)) != str(value):
            raise ConfigError("has two different answers", file=file, field=str(uid), remedy="keep one of them")
        answers[str(uid)] = str(value)
    return answers
