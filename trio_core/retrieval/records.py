"""One corpus line -> one passage: FlashRAG/BEIR JSON objects and DPR's tab-separated rows.

A line that cannot be used raises `BrokenLine`, which the corpus counts; it is no error of the whole file.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

from trio_core.values import Passage

ID_KEYS = ("id", "_id", "doc_id", "docid")
TEXT_KEYS = ("text", "contents")
TSV_COLUMNS = ("id", "text", "title")
TITLE_CHARS = 300
"""A first line longer than this is text, not a title."""

# A field is quoted only if its closing quote stands before a tab or the end; else its quotes are text.
_TSV_FIELD = re.compile(r'(?:^|\t)(?:"((?:[^"]|"")*)"(?=\t|$)|([^\t]*))')


class BrokenLine(Exception):
    """A line that holds no usable passage; the text says why."""


def clean(text: str) -> str:
    """Text that UTF-8, tokenizers and databases accept: lone surrogates and NUL become U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def split_contents(contents: str) -> tuple[str, str]:
    """Title and text of FlashRAG's `contents` (`"Title"\\nText`); without a title line the title is empty."""
    first, newline, rest = contents.partition("\n")
    if not newline or len(first) > TITLE_CHARS or not rest.strip():
        return "", contents
    return unquote(first), rest


def unquote(line: str) -> str:
    """A title line without the pair of quotes around it (inner quotes belong to the title)."""
    line = line.strip()
    return line[1:-1].strip() if len(line) >= 2 and line[0] == line[-1] == '"' else line


def contents(passage: Passage) -> str:
    """What is embedded and indexed: the quoted title on its own line, then the text (FlashRAG, E5 indexes)."""
    return f'"{passage.title}"\n{passage.text}' if passage.title else passage.text


def from_json(line: str, fallback_id: str) -> Passage:
    """Passage of a JSON line with `id` and either `contents` or `text` (and `title`). Raises BrokenLine."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenLine(f"no valid JSON: {error}") from error
    if not isinstance(record, dict):
        raise BrokenLine(f"a JSON object is expected, not {type(record).__name__}")
    title, text = _title_and_text(record)
    return _passage(_record_id(record, fallback_id), title, text)


def from_tsv(line: str, columns: tuple[str, ...]) -> Passage:
    """Passage of a tab-separated row. Raises BrokenLine."""
    fields = tsv_fields(line)
    if len(fields) < 2 or len(fields) > len(columns):
        raise BrokenLine(f"{len(fields)} columns instead of {len(columns)} ({', '.join(columns)})")
    row = dict(zip(columns, fields, strict=False))
    if not row.get("id", "").strip():
        raise BrokenLine("the id is empty")
    return _passage(row["id"].strip(), row.get("title", ""), row.get("text", ""))


def tsv_fields(line: str) -> list[str]:
    """Fields of a row; CSV quoting as DPR writes it."""
    if '"' not in line:
        return line.split("\t")
    return [
        match[1].replace('""', '"') if match[1] is not None else match[2] for match in _TSV_FIELD.finditer(line)
    ]


def tsv_header(line: str) -> tuple[str, ...] | None:
    """The columns in their order when the line is a header, else null."""
    names = tuple(field.strip().lower() for field in tsv_fields(line))
    return names if {"id", "text"} <= set(names) <= set(TSV_COLUMNS) else None


def _record_id(record: dict[str, Any], fallback: str) -> str:
    for key in ID_KEYS:
        value = record.get(key)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return fallback


def _title_and_text(record: dict[str, Any]) -> tuple[str, str]:
    key = next((key for key in TEXT_KEYS if record.get(key) is not None), None)
    if key is None:
        raise BrokenLine(_no_text_reason(record))
    body = record[key]
    if not isinstance(body, str):
        raise BrokenLine(f"{key!r} is {type(body).__name__}, not text")
    title = record.get("title")
    title = title if isinstance(title, str) else ""
    if key == "contents":
        first, rest = split_contents(body)
        if not title or first == title.strip():
            return first, rest
    return title, body


def _no_text_reason(record: dict[str, Any]) -> str:
    found = ", ".join(repr(key) for key in record) or "none"
    near = [name for name in TEXT_KEYS if difflib.get_close_matches(name, list(record), n=1, cutoff=0.7)]
    hint = f"; is one of them meant to be {near[0]!r}?" if near else ""
    return f"no field 'contents' or 'text' (fields found: {found}){hint}"


def _passage(passage_id: str, title: str, text: str) -> Passage:
    if not text.strip():
        raise BrokenLine("the text is empty")
    return Passage(id=clean(passage_id), title=clean(title).strip(), text=clean(text))
