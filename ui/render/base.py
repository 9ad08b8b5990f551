"""The one way of text into HTML, and the few pieces that all renderers share."""

from __future__ import annotations

import html
import re
from typing import NamedTuple


def esc(value: object) -> str:
    """Text for HTML, inside or outside of attributes. NUL and lone surrogates, which no page can carry, are shown as U+FFFD."""
    text = re.sub("[\x00\ud800-\udfff]", "\ufffd", str(value))
    return html.escape(text, quote=True)


class Block(NamedTuple):
    """A piece of a live page. `key` is its identity, `html` its content; `into` names a slot in another block, else the piece
    stands in the grid at `row` and `col`."""

    key: str
    html: str
    row: int = 0
    col: int = 0
    into: str = ""


def number(value: float, digits: int = 0) -> str:
    """1,234 or 1,234.5."""
    return f"{value:,.{digits}f}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 call`, `2 calls`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def seconds(value: float) -> str:
    """9.4 s, 75 s, 2 min 05 s."""
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"


def tag(text: str, kind: str = "", title: str = "") -> str:
    """A small outlined word."""
    about = f' title="{esc(title)}"' if title else ""
    return f'<span class="tag {kind}"{about}>{esc(text)}</span>'


def label(left: str, right: str = "") -> str:
    """A section's caps line; both sides are text."""
    return f'<div class="lab"><h3>{esc(left)}</h3><span>{esc(right)}</span></div>'


def words(text: str) -> list[str]:
    """Words in lower case."""
    return re.findall(r"\w+", text.lower())


_FUNCTION_WORDS = """
a an and are as at be been but by did do does for from had has have he her his in into is it its not of on or she that the their there
they this to was were what when where which who whom whose will with
"""
STOPWORDS = frozenset(_FUNCTION_WORDS.split())


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning."""
    return frozenset(w for w in words(text) if w not in STOPWORDS)
