"""Reading label files: JSON lines, CSV, or a folder of them. Pure: no database here."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from storage.formats import ParsedLine, from_line
from trio_core.errors import InputError

MAX_BYTES = 512 * 2**20
_FIELD_CHARS = 64 * 2**20
"""Longest cell of a CSV file; a pool of twenty passages has some 20,000 characters."""


class FileLine(NamedTuple):
    """A line of a file: what it holds, or the reason why it holds nothing that can be stored."""

    file: str
    number: int
    content: ParsedLine | str


def read_lines(path: Path) -> Iterator[FileLine]:
    """Every line that is not blank, of a file or of a folder's `.jsonl` and `.csv` files. Raises InputError: nothing to read."""
    try:
        files = sorted(file for file in path.iterdir() if file.suffix in {".jsonl", ".csv"}) if path.is_dir() else [path]
        if not files:
            raise InputError(f"the folder {path} holds no .jsonl and no .csv file; nothing was imported")
        for file in files:
            if file.stat().st_size > MAX_BYTES:
                raise InputError(f"{file} has {file.stat().st_size / 2**20:,.0f} MB, at most {MAX_BYTES // 2**20} are read; split it")
            yield from _csv(file) if file.suffix == ".csv" else _jsonl(file)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); nothing was imported") from error


def _jsonl(file: Path) -> Iterator[FileLine]:
    with file.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            if raw.strip():
                yield FileLine(file.name, number, _json_line(raw))


def _json_line(raw: bytes) -> ParsedLine | str:
    try:
        return _parsed(json.loads(raw.decode("utf-8-sig")), flat=False)
    except UnicodeDecodeError as error:
        return f"no UTF-8 text ({error.reason} at byte {error.start})"
    except json.JSONDecodeError as error:
        return f"no JSON ({error.msg} at character {error.pos})"
    except (ValueError, RecursionError) as error:
        return f"no JSON that can be read ({error})"


def _csv(file: Path) -> Iterator[FileLine]:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no UTF-8 text ({error.reason} at byte {error.start}); save it as CSV in UTF-8") from error
    csv.field_size_limit(_FIELD_CHARS)
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for row in rows:
            yield FileLine(file.name, rows.line_num, _parsed(row, flat=True))
    except csv.Error as error:
        yield FileLine(file.name, rows.line_num, f"no CSV ({error}); the rest of the file was not read")


def _parsed(line: Any, flat: bool) -> ParsedLine | str:
    if not isinstance(line, Mapping):
        return f"no JSON object but {type(line).__name__}"
    try:
        return from_line(line, flat)
    except UnicodeEncodeError:
        return "it holds half a character (a lone surrogate), which no store can keep"
    except ValueError as error:
        return str(error)
