"""Raw records of a file, whatever it is written in: JSON list, JSON object, JSON lines, CSV or TSV; .gz of each."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from trio_core.datasets.json_stream import stream_list, stream_object
from trio_core.errors import CorpusError, DatasetError
from trio_core.retrieval.lines import numbered_lines, open_binary

Shape = Literal["list", "object", "lines", "csv", "tsv"]
Raw = tuple[int, Any]
"""Line number (from 1) and the record; a line that cannot be read is a `ValueError` in its place."""
KEY = "\x00key"
"""Where a record of a JSON object keeps its own key (PubMedQA: the PMID)."""

_HEAD = 4096
_OBJECT_OF_RECORDS = re.compile(r'\s*\{\s*"\d+"\s*:\s*\{')


def shape_of(path: Path) -> Shape:
    """How the file is written, from its first characters; only a table needs its ending (.csv, .tsv) too. Raises DatasetError."""
    try:
        with open_binary(path) as stream:
            head = stream.read(_HEAD).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, CorpusError) as error:
        raise DatasetError(f"{str(path)!r} cannot be read: {error}") from error
    first = head.lstrip()[:1]
    if first == "[":
        return "list"
    if first == "{":
        return "object" if _OBJECT_OF_RECORDS.match(head) else "lines"
    if not first:
        raise DatasetError(f"{str(path)!r} is empty")
    line = head.split("\n", 1)[0]
    return "tsv" if line.count("\t") > line.count(",") else "csv"


def raw_records(path: Path, shape: Shape) -> Iterator[Raw]:
    """All records in file order. Raises DatasetError where the file as a whole cannot be read on."""
    try:
        if shape == "lines":
            yield from _lines(path)
        elif shape in ("csv", "tsv"):
            yield from _table(path, "," if shape == "csv" else "\t")
        else:
            with open_binary(path) as binary:
                stream = io.TextIOWrapper(binary, encoding="utf-8")
                if shape == "list":
                    yield from stream_list(stream, repr(str(path)))
                else:
                    for number, key, value in stream_object(stream, repr(str(path))):
                        yield number, {**value, KEY: key} if isinstance(value, dict) else value
    except CorpusError as error:
        raise DatasetError(str(error)) from error
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise DatasetError(f"{str(path)!r} cannot be read: {error}") from error


def _lines(path: Path) -> Iterator[Raw]:
    for number, line in numbered_lines(path):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, ValueError(f"no valid JSON: {error}")


def _table(path: Path, delimiter: str) -> Iterator[Raw]:
    """Rows as {column: text}; a quoted field may hold line ends. Columns without a name are left out."""
    reader = csv.reader((line + "\n" for _, line in numbered_lines(path)), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        began = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield began, ValueError(f"no valid row: {error}")
            continue
        if header is None:
            header = [name.strip() for name in row]
        elif any(field.strip() for field in row):
            yield began, _row(header, row)


def _row(header: list[str], row: list[str]) -> Any:
    if len(row) > len(header) or len(row) < len(header) and len(row) < max(n for n, name in enumerate(header, 1) if name):
        return ValueError(f"{len(row)} columns, the header has {len(header)}")
    return {name: field for name, field in zip(header, row, strict=False) if name}
