"""A folder of .txt and .md files -> passages of about 100 words (the size of DPR's Wikipedia blocks)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trio_core.retrieval.lines import read_text
from trio_core.retrieval.records import clean
from trio_core.values import Passage

TEXT_SUFFIXES = (".txt", ".md")
TARGET_WORDS = 100
SMALLEST_WORDS = 20
"""A shorter last chunk is joined to the one before it."""
SLICE_CHARS = 200
"""A "word" longer than this (scripts without spaces) is cut into slices of this length."""

_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
# Kana, Han, Hangul and Thai: about two characters make what a word is in English.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n{2,}")


def text_files(folder: Path) -> list[Path]:
    """The folder's text files at any depth, in name order; hidden files and folders are left out."""
    return sorted(
        path
        for path in folder.rglob("*")
        if _is_text(path) and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def file_passages(path: Path, folder: Path) -> Iterator[Passage]:
    """Chunks of one file: id = `relative/path#n` from 1, title = first heading or the file's name."""
    text = clean(read_text(path))
    heading = _HEADING.search(text) if ".md" in path.suffixes else None
    title = heading[1].strip() if heading else path.name.split(".")[0]
    name = path.relative_to(folder).as_posix()
    for number, chunk in enumerate(chunks(text), 1):
        yield Passage(id=f"{name}#{number}", title=title, text=chunk)


def chunks(text: str) -> list[str]:
    """Splits at sentence ends near TARGET_WORDS; nothing is lost but white space between sentences."""
    grouped: list[list[str]] = []
    size = 0.0
    for piece in _pieces(text):
        if not grouped or size + words(piece) > TARGET_WORDS:
            grouped.append([])
            size = 0.0
        grouped[-1].append(piece)
        size += words(piece)
    if len(grouped) > 1 and size < SMALLEST_WORDS:
        grouped[-2] += grouped.pop()
    return [" ".join(group) for group in grouped]


def words(text: str) -> float:
    """Size of a text in words; scripts without spaces count by characters."""
    return max(len(text.split()), len(_UNSPACED.findall(text)) / 2, len(text) / 12)


def _pieces(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        sentence = sentence.strip()
        if sentence and words(sentence) <= TARGET_WORDS:
            yield sentence
        elif sentence:
            yield from _cut(sentence)


def _cut(sentence: str) -> Iterator[str]:
    block: list[str] = []
    size = 0.0
    for word in sentence.split():
        for start in range(0, len(word), SLICE_CHARS):
            piece = word[start:start + SLICE_CHARS]
            if block and size + words(piece) > TARGET_WORDS:
                yield " ".join(block)
                block, size = [], 0.0
            block.append(piece)
            size += words(piece)
    yield " ".join(block)


def _is_text(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    return path.is_file() and name.endswith(TEXT_SUFFIXES)
