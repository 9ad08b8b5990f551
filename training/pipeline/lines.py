"""Pages of JSON lines files of any size: rows by number, without reading the file into memory."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

BLOCK = 1 << 20
MOST_LINE = 2 << 20
"""A longer line is not shown."""
MOST_SEARCHED = 64 << 20
"""Bytes that a search for rows by their id reads at most."""
_KEPT = 64
_MARK = 512


class Line(NamedTuple):
    """A line and its number, from 0; `text` is null for one longer than MOST_LINE."""

    number: int
    text: bytes | None


class LinePage(NamedTuple):
    """Some lines of a file. `cut`: the file ends in a line without its end (being written, or cut off by a kill)."""

    lines: tuple[Line, ...]
    total: int
    cut: bool


class _Count(NamedTuple):
    """What is known of a file: whole lines before each block, and in all."""

    inode: int
    size: int
    changed: int
    before: tuple[int, ...]
    total: int
    mark: bytes
    """Its first and last bytes: a file that was made anew is not one that grew."""


_known: dict[Path, _Count] = {}
_lock = threading.Lock()


def read_page(path: Path, first: int, rows: int) -> LinePage:
    """Lines from number `first` on. A missing file has none. Raises OSError."""
    try:
        count, cut = _counted(path)
    except FileNotFoundError:
        return LinePage((), 0, False)
    wanted = range(first, min(first + rows, count.total))
    if not wanted:
        return LinePage((), count.total, cut)
    with path.open("rb") as file:
        _go_to(file, count, wanted.start)
        return LinePage(tuple(Line(n, _line(file)) for n in wanted), count.total, cut)


def find_rows(path: Path, ids: Collection[str]) -> dict[str, bytes]:
    """Lines that begin with `{"id":"…"` of one of these ids; at most MOST_SEARCHED bytes are read. A missing file has none."""
    marks = {f'{{"id":"{i}"'.encode(): i for i in ids if not set(i) & set('"\\')}
    found: dict[str, bytes] = {}
    if marks and path.exists():
        with path.open("rb") as file:
            while len(found) < len(marks) and file.tell() < MOST_SEARCHED and (text := file.readline(MOST_LINE)):
                mark = text[: text.find(b'"', 7) + 1]
                if mark in marks and text.endswith(b"\n"):
                    found.setdefault(marks[mark], text)
    return found


def whole_lines(path: Path) -> Iterator[bytes]:
    """All whole lines that are not too long, one after the other. A missing file has none."""
    if path.exists():
        with path.open("rb") as file:
            while text := file.readline(MOST_LINE):
                if text.endswith(b"\n"):
                    yield text


def tail(path: Path, most: int = 4096) -> bytes:
    """The last whole line among the last bytes; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - most))
            end = file.read(most).rpartition(b"\n")[0]
    except OSError:
        return b""
    return end.rpartition(b"\n")[2]


def _counted(path: Path) -> tuple[_Count, bool]:
    """Lines of a file, and whether it ends within one; a file that only grew is counted on from where it ended."""
    with _lock:
        old = _known.get(path)
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        if old is not None and (old.inode, old.size, old.changed) == (stat.st_ino, stat.st_size, stat.st_mtime_ns):
            return old, _cut(old.mark)
        grown = old is not None and old.inode == stat.st_ino and old.size <= stat.st_size and old.mark == mark(file, old.size)
        before = list(old.before[:-1]) if old is not None and grown else []
        total = old.before[-1] if old is not None and grown else 0
        at = len(before) * BLOCK
        file.seek(at)
        while at < stat.st_size and (block := file.read(min(BLOCK, stat.st_size - at))):
            before.append(total)
            total, at = total + block.count(b"\n"), at + len(block)
        made = _Count(stat.st_ino, stat.st_size, stat.st_mtime_ns, tuple(before) or (0,), total, mark(file, stat.st_size))
    with _lock:
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)))
        _known[path] = made
    return made, _cut(made.mark)


def mark(file: BinaryIO, size: int) -> bytes:
    """The first and the last of a file's first `size` bytes."""
    file.seek(0)
    head = file.read(min(_MARK, size))
    file.seek(max(0, size - _MARK))
    return head + file.read(min(_MARK, size))


def _cut(mark: bytes) -> bool:
    return bool(mark) and not mark.endswith(b"\n")


def _go_to(file: BinaryIO, count: _Count, number: int) -> None:
    """Puts the file at the start of a line."""
    if number == 0:
        return
    at = bisect_left(count.before, number) - 1  # the last block before which fewer lines have ended
    left, start = number - count.before[at], at * BLOCK
    file.seek(start)
    block, end = file.read(BLOCK), -1
    for _ in range(left):
        end = block.index(b"\n", end + 1)
    file.seek(start + end + 1)


def _line(file: BinaryIO) -> bytes | None:
    """The next line, or null for one that is too long (it is skipped piece by piece)."""
    text: bytes = file.readline(MOST_LINE)
    if text.endswith(b"\n"):
        return text[:-1]
    while text and not text.endswith(b"\n"):
        text = file.readline(BLOCK)
    return None
