"""The records of one JSON list or object, one at a time: HotpotQA's train file (560 MB) is never in memory as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from trio_core.errors import DatasetError

CHUNK = 1 << 16


def stream_list(stream: TextIO, name: str) -> Iterator[tuple[int, Any]]:
    """(line, item) for each item of `[…]`. Raises DatasetError that names the line where the JSON breaks off."""
    reader = _Reader(stream, name)
    reader.expect("[")
    if reader.peek() == "]":
        return
    while True:
        yield reader.value()
        if reader.take() == "]":
            return


def stream_object(stream: TextIO, name: str) -> Iterator[tuple[int, str, Any]]:
    """(line, key, value) for each member of `{…}`. Raises DatasetError."""
    reader = _Reader(stream, name)
    reader.expect("{")
    if reader.peek() == "}":
        return
    while True:
        line, key = reader.value()
        reader.expect(":")
        yield line, str(key), reader.value()[1]
        if reader.take() == "}":
            return


class _Reader:
    """A window on the text; what has been read is thrown away."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._text, self._at, self._line = "", 0, 1
        self._ended = False
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n\ufeff":
                self._at += 1
            if self._at < len(self._text) or not self._more(CHUNK):
                return self._text[self._at : self._at + 1]

    def expect(self, mark: str) -> None:
        """Takes one character. Raises DatasetError if it is another."""
        found = self.peek()
        if found != mark:
            raise self._broken(f"{mark!r} is expected, found {found!r}" if found else f"the file ends where {mark!r} is expected")
        self._at += 1

    def take(self) -> str:
        """The mark after an item: a comma, or the end of the list or object."""
        found = self.peek()
        if found not in (",", "]", "}") or not found:
            raise self._broken(f"a comma or the end is expected, found {found!r}" if found else "the file ends in the middle")
        self._at += 1
        return found

    def value(self) -> tuple[int, Any]:
        """(line on which it begins, the next value)."""
        self.peek()
        self._drop()
        size = CHUNK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    line = self._line
                    self._at = end
                    return line, value
            except (ValueError, RecursionError) as error:
                if self._ended:
                    raise self._broken(str(error)) from error
            self._more(size)
            size *= 2  # a long item is decoded anew a few times, not once a chunk

    def _drop(self) -> None:
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :], 0

    def _more(self, size: int) -> bool:
        chunk = self._stream.read(size)
        self._ended = not chunk
        self._text += chunk
        return bool(chunk)

    def _broken(self, why: str) -> DatasetError:
        line = self._line + self._text.count("\n", 0, self._at)
        return DatasetError(f"{self._name} is no valid JSON from line {line} on: {why}; download it again")
