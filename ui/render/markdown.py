"""A small, safe subset of markdown: headings, paragraphs, lists, bold, italic, code. Everything else is text.

The text is escaped first and nothing of it becomes an address or an attribute, so that guidelines cannot carry a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ui.render.base import esc

_ITEM = re.compile(r"\s*(?:[-*]|(\d{1,4})[.)])\s+(.*)")
_HEADING = re.compile(r"(#{1,4})\s+(.*)")
_INLINE = (
    (re.compile(r"`([^`\n]+)`"), "code"), (re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*"), "b"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), "em"),
)


def markdown_html(text: str) -> str:
    """Blocks are parted by empty lines; a list ends where a line is no item and not indented."""
    blocks: list[list[str]] = [[]]
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip():
            blocks.append([])
        elif _HEADING.fullmatch(line) or (blocks[-1] and _starts_list(line, blocks[-1])):
            blocks += [[line]] if not _HEADING.fullmatch(line) else [[line], []]
        else:
            blocks[-1].append(line)
    return "".join(_block(block) for block in blocks if block)


def _starts_list(line: str, block: Sequence[str]) -> bool:
    return bool(_ITEM.fullmatch(line)) and not _ITEM.fullmatch(block[0])


def _block(lines: Sequence[str]) -> str:
    if heading := _HEADING.fullmatch(lines[0]):
        level = min(4, len(heading[1]) + 1)  # the page has its own h1
        return f"<h{level}>{inline(heading[2])}</h{level}>"
    if first := _ITEM.fullmatch(lines[0]):
        kind = "ol" if first[1] else "ul"
        return f"<{kind}>{''.join(f'<li>{inline(item)}</li>' for item in _items(lines))}</{kind}>"
    return f"<p>{inline(' '.join(line.strip() for line in lines))}</p>"


def _items(lines: Sequence[str]) -> Iterator[str]:
    """Lines that begin no item belong to the one before."""
    current: list[str] = []
    for line in lines:
        if item := _ITEM.fullmatch(line):
            if current:
                yield " ".join(current)
            current = [item[2]]
        else:
            current.append(line.strip())
    yield " ".join(current)


def inline(text: str) -> str:
    """Bold, italic and code within a line; marks within code stay text."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(_marked(part) for part in parts)


def _marked(part: str) -> str:
    html = esc(part)
    code, *others = _INLINE
    if code[0].fullmatch(part):
        return f"<code>{html[1:-1]}</code>"
    for pattern, name in others:
        html = pattern.sub(rf"<{name}>\1</{name}>", html)
    return html
