"""Fields of a raw record, checked. What does not fit raises `BrokenRecord`, which the data set counts and names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from trio_core.retrieval.records import clean

Record = Mapping[str, Any]


class BrokenRecord(Exception):
    """A record that holds no usable question; the text says why."""


def text(record: Record, *keys: str) -> str:
    """The first of the keys that is there, as text without surrounding white space. Raises BrokenRecord (absent, no text, empty)."""
    for key in keys:
        if key in record:
            value = record[key]
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                raise BrokenRecord(f"{key!r} is {kind(value)}, not text")
            if not str(value).strip():
                raise BrokenRecord(f"{key!r} is empty")
            return clean(str(value)).strip()
    raise BrokenRecord(f"no field {keys[0]!r} (fields found: {', '.join(map(repr, record)) or 'none'})")


def optional(record: Record, *keys: str) -> str:
    """The first of the keys that holds text; "" where none does."""
    values = (record.get(key) for key in keys)
    return next((clean(v).strip() for v in values if isinstance(v, str) and v.strip()), "")


def items(record: Record, key: str) -> list[Any]:
    """A list field. Raises BrokenRecord."""
    value = record.get(key)
    if not isinstance(value, list):
        raise BrokenRecord(f"{key!r} is {kind(value)}, not a list" if key in record else f"no field {key!r}")
    return value


def json_items(record: Record, key: str) -> list[Any]:
    """A list written as JSON inside a text field; an empty field is an empty list. Raises BrokenRecord."""
    raw = record.get(key) or "[]"
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        raise BrokenRecord(f"{key!r} is no valid JSON list: {error}") from error
    if not isinstance(value, list):
        raise BrokenRecord(f"{key!r} is {kind(value)}, not a list")
    return value


def distinct(answers: Iterable[Any]) -> tuple[str, ...]:
    """Answers as texts, each once, in order. Raises BrokenRecord where none is left."""
    found = tuple(dict.fromkeys(clean(str(a)).strip() for a in answers if a is not None and str(a).strip()))
    if not found:
        raise BrokenRecord("there is no answer")
    return found


def stable_id(prefix: str, question: str) -> str:
    """An id for a set without ids: the same question gets the same one in every file and every order."""
    return f"{prefix}-{hashlib.sha256(question.encode()).hexdigest()[:12]}"


def kind(value: Any) -> str:
    """A JSON type in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
