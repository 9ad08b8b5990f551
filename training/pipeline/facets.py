"""Rows of one kind in a step's data (difficulty, label, outcome): found by one pass over the file, kept, and gone on with as it grows."""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from training.pipeline.lines import BLOCK, MOST_LINE, Line, mark

MOST_READ = 1 << 30
"""Bytes of a file that are looked through."""
_KEPT = 64


class Facet(NamedTuple):
    """What rows are told apart by. `pattern` finds its text in a row as `records` writes it: inside a text a quote has a backslash."""

    title: str
    values: Mapping[str, str]
    """Value -> words."""
    pattern: re.Pattern[bytes]
    of: Callable[[str], str] = str
    """The value that a text stands for."""

    def value(self, row: bytes) -> str:
        """The row's value; empty for a row that has none."""
        found = self.pattern.search(row)
        value = self.of(found[1].decode("utf-8", "replace")) if found else ""
        return value if value in self.values else ""


def text_facet(title: str, field: str, values: Mapping[str, str]) -> Facet:
    """Of a field that holds one of some words."""
    return Facet(title, values, re.compile(rf'"{field}":"(\w*)"'.encode()))


class FacetPage(NamedTuple):
    """Rows of one value. `counts` = rows of each value; `whole` = the file was looked through to its end."""

    lines: tuple[Line, ...]
    counts: dict[str, int]
    whole: bool


class _Index:
    """Number and place of every row of each value, of a file that grows."""

    def __init__(self, inode: int, facet: Facet) -> None:
        self.inode, self.end, self.lines, self.mark = inode, 0, 0, b""
        self.rows: dict[str, array[int]] = {value: array("Q") for value in facet.values}

    def fits(self, file: BinaryIO, stat: os.stat_result) -> bool:
        """Whether the file only grew since."""
        return self.inode == stat.st_ino and self.end <= stat.st_size and self.mark == mark(file, self.end)

    def grow(self, file: BinaryIO, facet: Facet) -> None:
        """Reads on, whole lines only."""
        file.seek(self.end)
        while self.end < MOST_READ and (row := file.readline(MOST_LINE)):
            size, piece = len(row), row
            while piece and not piece.endswith(b"\n"):  # too long to be shown, or the end of the file within a line
                piece = file.readline(BLOCK)
                size += len(piece)
            if not piece:
                break
            if row.endswith(b"\n") and (value := facet.value(row)):
                self.rows[value].extend((self.lines, self.end))
            self.end, self.lines = self.end + size, self.lines + 1
        self.mark = mark(file, self.end)


_known: dict[tuple[Path, str], _Index] = {}
_lock = threading.Lock()


def read_facet(path: Path, facet: Facet, value: str, first: int, rows: int) -> FacetPage:
    """Rows of a value from its `first` on; with a value that is none, the counts alone. A missing file has none. Raises OSError."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return FacetPage((), dict.fromkeys(facet.values, 0), True)
    with file, _lock:
        stat = os.fstat(file.fileno())
        index = _known.pop((path, facet.title), None)
        if index is None or not index.fits(file, stat):
            index = _Index(stat.st_ino, facet)
        index.grow(file, facet)
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)))
        _known[path, facet.title] = index
        found = index.rows.get(value, array("Q"))[2 * first : 2 * (first + rows)]
        counts = {name: len(places) // 2 for name, places in index.rows.items()}
        lines = tuple(_at(file, number, place) for number, place in zip(found[::2], found[1::2], strict=True))
        return FacetPage(lines, counts, index.end < MOST_READ)


def _at(file: BinaryIO, number: int, place: int) -> Line:
    file.seek(place)
    return Line(number, file.readline(MOST_LINE).removesuffix(b"\n"))
