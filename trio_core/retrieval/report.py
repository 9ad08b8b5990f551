"""Counts of a reading of a corpus, and the memory of ids that finds duplicates in it."""

from __future__ import annotations

import hashlib
from array import array

from trio_core.values import Passage, Value

EXAMPLES = 5
"""So many broken lines are named."""


class BrokenExample(Value):
    """A line that was left out."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line}: {self.reason}"


class CorpusReport(Value):
    """What a reading met. `duplicates` = identical repeats left out, `renamed` = same id with other content, kept."""

    files: int = 0
    read: int = 0
    kept: int = 0
    broken: int = 0
    duplicates: int = 0
    renamed: int = 0
    untitled: int = 0
    examples: tuple[BrokenExample, ...] = ()

    def summary(self) -> str:
        """One line for people."""
        parts = [f"{self.kept:,} passages from {self.files} file{'s' if self.files != 1 else ''}"]
        if self.broken:
            named = "; ".join(str(example) for example in self.examples[:3])
            parts.append(f"{self.broken:,} broken lines left out ({named})")
        if self.duplicates:
            parts.append(f"{self.duplicates:,} identical repeats left out")
        if self.renamed:
            parts.append(f"{self.renamed:,} passages given a new id because theirs was taken")
        return ", ".join(parts)


class Tally:
    """Mutable counts behind a CorpusReport."""

    def __init__(self, files: int = 0) -> None:
        self.files = files
        self.read = self.kept = self.broken = self.duplicates = self.renamed = self.untitled = 0
        self.examples: list[BrokenExample] = []
        self._ids = IdMemory()

    def broken_line(self, file: str, line: int, reason: str) -> None:
        """Counts a line that was left out and names the first few."""
        self.read += 1
        self.broken += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(BrokenExample(file=file, line=line, reason=reason[:300]))

    def accept(self, passage: Passage) -> Passage | None:
        """The passage to keep: itself, itself under a free id, or null for an identical repeat."""
        digest = _digest(passage.title + "\n" + passage.text)
        name, copy = passage.id, 1
        while (known := self._ids.get(name)) is not None:
            if known == digest:
                self.duplicates += 1
                return None
            copy += 1
            name = f"{passage.id}~{copy}"
        self._ids.add(name, digest)
        self.kept += 1
        self.renamed += copy > 1
        self.untitled += not passage.title
        return passage if copy == 1 else passage.model_copy(update={"id": name})

    def report(self) -> CorpusReport:
        """The counts as a value."""
        return CorpusReport(
            files=self.files, read=self.read, kept=self.kept, broken=self.broken, duplicates=self.duplicates,
            renamed=self.renamed, untitled=self.untitled, examples=tuple(self.examples),
        )


class IdMemory:
    """id -> 64-bit digest of its content. Consecutive numbers (Wikipedia dumps) cost 8 bytes each, others about 150."""

    def __init__(self) -> None:
        self._first = 0
        self._run = array("Q")
        self._others: dict[str, int] = {}

    def get(self, name: str) -> int | None:
        """Digest stored under the id, or null."""
        at = self._position(name)
        return self._run[at] if at is not None and at < len(self._run) else self._others.get(name)

    def add(self, name: str, digest: int) -> None:
        """Stores a new id."""
        if not self._run and _is_plain_number(name):
            self._first = int(name)
        if self._position(name) == len(self._run):
            self._run.append(digest)
        else:
            self._others[name] = digest

    def _position(self, name: str) -> int | None:
        if not _is_plain_number(name):
            return None
        at = int(name) - self._first
        return at if 0 <= at <= len(self._run) else None


def _is_plain_number(name: str) -> bool:
    # "007" and "7" are two ids: only the usual way of writing a number takes part in the run.
    return name.isascii() and name.isdigit() and len(name) < 16 and (name[0] != "0" or name == "0")


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
