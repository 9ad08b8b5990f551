"""The passages that a round found, each once, with every sub-query that found it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from trio_core.events import Retrieved, RetrievedHit
from trio_core.trace import Round
from ui.render.base import content_words, esc, label, number, plural, tag

FULL_CHARS = 6000


@dataclass
class Found:
    """One passage of a round and its finders as (query number, query, hit)."""

    hit: RetrievedHit
    by: list[tuple[int, str, RetrievedHit]] = field(default_factory=list)


def token(passage_id: str) -> str:
    """A short stand-in for a passage id, fit for attributes and selectors."""
    return "p" + hashlib.blake2b(passage_id.encode(errors="replace"), digest_size=6).hexdigest()


def merged(events: Sequence[Retrieved], offset: int) -> list[Found]:
    """Passages by best score (by rank where there are no scores), each with all its finders."""
    found: dict[str, Found] = {}
    for event in events:
        for hit in event.hits:
            entry = found.setdefault(hit.passage.id, Found(hit))
            entry.by.append((offset + event.query_index + 1, event.query, hit))
            if (hit.score or 0.0) > (entry.hit.score or 0.0):
                entry.hit = hit
    return sorted(found.values(), key=lambda f: (-(f.hit.score or 0.0), f.hit.rank))


def chunks_html(round_: Round, offset: int, gold: frozenset[str]) -> str:
    """The section of chunks; empty before the first search result."""
    if not round_.retrieved:
        return ""
    found = merged(round_.retrieved, offset)
    rows = "".join(_chunk(n, f, round_.number, gold) for n, f in enumerate(found, 1))
    notes = "".join(f'<p class="hid">{esc(e.note)}</p>' for e in round_.retrieved if e.note)
    empty = "" if found else '<p class="hid">Nothing found.</p>'
    head = label("Chunks", _counts(found, round_.number))
    return f'<section class="sec" data-k="c">{head}<ol class="chs">{rows}</ol>{empty}{notes}</section>'


def _counts(found: Sequence[Found], number_: int) -> str:
    new = sum(f.hit.first_seen_round == number_ for f in found)
    parts = [f"{new} new"]
    if seen := len(found) - new:
        parts.append(f"{seen} seen before")
    if twice := sum(len(f.by) > 1 for f in found):
        parts.append(f"{twice} found more than once")
    return " · ".join(parts)


def _chunk(rank: int, found: Found, round_number: int, gold: frozenset[str]) -> str:
    hit, passage = found.hit, found.hit.passage
    finders = " ".join(str(n) for n, _, _ in found.by)
    score = f"{hit.score:.2f}" if hit.score is not None else "–"
    snippet = best_first(passage.text, found.by[0][1])
    return (
        f'<li class="ch" data-k="{token(passage.id)}" data-p="{token(passage.id)}" data-by="{finders}"><details><summary>'
        f'<span class="rank">{rank}</span><span class="what"><span class="title">{esc(passage.title or passage.id)}</span>'
        f"{_tags(found, round_number, gold)}<span class=\"snip\">{esc(snippet)}</span></span>"
        f'<span class="score" title="{esc(_scores(found))}">{score}</span></summary>{_full(found)}</details></li>'
    )


def _tags(found: Found, round_number: int, gold: frozenset[str]) -> str:
    tags = []
    if found.hit.passage.id in gold:
        tags.append(tag("gold", "g", "evidence that is known to hold part of the answer"))
    if found.hit.noise:
        tags.append(tag(f"noise, rank {found.hit.from_rank}", "", "stress test: put here in place of a better passage"))
    if len(found.by) > 1:
        tags.append(tag("by " + ", ".join(str(n) for n, _, _ in found.by), "", "found by several sub-queries, shown once"))
    if found.hit.first_seen_round < round_number:
        tags.append(tag(f"seen in round {found.hit.first_seen_round}"))
    return "".join(tags)


def _scores(found: Found) -> str:
    lines = [f"sub-query {n}: rank {h.rank}" + (f", score {h.score:.4f}" if h.score is not None else "") + _moved(h) for n, _, h in found.by]
    return "; ".join(lines)


def _moved(hit: RetrievedHit) -> str:
    return f", rank {hit.from_rank} before reranking" if hit.from_rank and not hit.noise else ""


def _full(found: Found) -> str:
    text = found.hit.passage.text
    size = plural(len(text), "character") if len(text) <= FULL_CHARS else f"{number(FULL_CHARS)} of {number(len(text))} characters"
    facts = f"{found.hit.passage.id} · {size} · {_scores(found)}"
    return f'<div class="full"><p>{esc(text[:FULL_CHARS])}</p><p class="facts">{esc(facts)}</p></div>'


def best_first(text: str, query: str) -> str:
    """The text in one line, from the sentence on that shares most words with the query."""
    flat = " ".join(text.split())
    sentences = re.split(r"(?<=[.!?])\s+(?=\S)", flat)
    wanted = content_words(query)
    best = max(range(len(sentences)), key=lambda i: (len(wanted & content_words(sentences[i])), -i))
    return ("… " if best else "") + " ".join(sentences[best:])[:400]
