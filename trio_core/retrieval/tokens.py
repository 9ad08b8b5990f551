"""Words for BM25: Unicode-safe, without a stemmer package.

Letters are folded (case, compatibility forms, Latin accents), English plurals reduced by Harman's S-stemmer (JASIS
1991), Chinese, Japanese and Thai text cut into overlapping pairs of characters, as Lucene's CJK analyser does. No stop
list: BM25's idf makes frequent words nearly weightless, and "The Who" stays a query.
"""

from __future__ import annotations

import re
import unicodedata

VERSION = "words-1"
"""Changes when tokens change; an index of other tokens is refused."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_PAIRED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+")
_LATIN_ACCENTS = re.compile(r"[\u0300-\u036f]")


def tokens(text: str) -> list[str]:
    """Tokens of a query or passage, in order."""
    if text.isascii():
        return [singular(word) for word in _ASCII_WORD.findall(text.lower())]
    folded = _LATIN_ACCENTS.sub("", unicodedata.normalize("NFKD", text)).casefold()
    folded = unicodedata.normalize("NFC", folded)
    found: list[str] = []
    for word in "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in folded).split():
        found += _pairs(word)
    return found


def singular(word: str) -> str:
    """Harman's three plural rules."""
    if len(word) > 3 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def _pairs(word: str) -> list[str]:
    found: list[str] = []
    at = 0
    for match in _PAIRED.finditer(word):
        if match.start() > at:
            found.append(singular(word[at:match.start()]))
        run = match[0]
        found += [run[i:i + 2] for i in range(len(run) - 1)] or [run]
        at = match.end()
    if at < len(word):
        found.append(singular(word[at:]))
    return found
