"""What a round carries on, and what the next one will not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trio_core.events import Hidden, StateSaved
from trio_core.trace import Round
from ui.render.base import content_words, esc, label, number, plural
from ui.render.chunks import merged, token

LINE = 600
"""Characters of a sentence, turn or answer."""
SHARED = 0.6
"""A line of knowledge counts as coming from a passage that holds this share of its content words."""


def state_html(round_: Round, offset: int) -> str:
    """The section of the state; before it is saved, of the knowledge so far."""
    saved = round_.state
    if saved is None:
        return ""
    body = _knowledge(round_, saved, offset) if "knowledge" in saved.state else _pool(saved.state) + _lines(saved.state)
    return f'<section class="sec st" data-k="s">{label("State carried on", _size(saved))}{body}{_hidden(saved)}</section>'


def _size(saved: StateSaved) -> str:
    hidden = sum(h.tokens for h in saved.hidden)
    now = plural(saved.tokens, "token")
    return f"{now}, was {number(saved.tokens + hidden)}" if hidden else now


def _pool(state: Mapping[str, Any]) -> str:
    if "pool" not in state:
        return ""
    pool: Sequence[Mapping[str, Any]] = state["pool"]
    ids = [hit["passage"]["id"] for entry in pool for hit in entry["hits"]]
    different = f" ({len(set(ids))} different)" if len(set(ids)) < len(ids) else ""
    return f"<p>Query pool: {plural(len(pool), 'query', 'queries')}, {plural(len(ids), 'chunk')}{different}.</p>"


def _lines(state: Mapping[str, Any]) -> str:
    """What other methods carry on: sentences, a conversation, answers of steps or of branches."""
    lines = [str(t) for t in state.get("thoughts") or ()]
    lines += [f"{t['role']}: {t['content']}" for t in state.get("turns") or ()]
    lines += [f"{d['task']} → {d['answer']}" for d in state.get("done") or ()]
    lines += [f"{n['path']}: {n['answer'] or 'no answer'}" for n in state.get("nodes") or ()]
    return f"<ul>{''.join(f'<li>{esc(line[:LINE])}</li>' for line in lines)}</ul>" if lines else ""


def _knowledge(round_: Round, saved: StateSaved, offset: int) -> str:
    new = set(round_.knowledge.notes) if round_.knowledge else set()
    found = [(token(f.hit.passage.id), content_words(f"{f.hit.passage.title} {f.hit.passage.text}")) for f in merged(round_.retrieved, offset)]
    notes: Sequence[str] = saved.state.get("knowledge") or ()
    lines = "".join(_note(n, note, note in new, sources(note, found)) for n, note in enumerate(notes))
    summary = saved.state.get("summary") or ""
    parts = [f"<ul>{lines}</ul>" if lines else '<p class="hid">No knowledge yet.</p>']
    if summary:
        parts.append(f'<p class="sumline"><span class="hid">Summary:</span> {esc(summary)}</p>')
    if round_.knowledge and round_.knowledge.overlap:
        repeated = "; ".join(f"“{q}”" for q in round_.knowledge.overlap)
        parts.append(f'<p class="warn">The summary repeats a sub-query word for word, which it must not: {esc(repeated)}</p>')
    return "".join(parts)


def _note(index: int, note: str, new: bool, from_: str) -> str:
    mark = ' class="new" title="new in this round"' if new else ' title="from an earlier round"'
    return f'<li tabindex="0" data-k="n{index}" data-from="{from_}"{mark}>{esc(note)}</li>'


def sources(note: str, found: Sequence[tuple[str, frozenset[str]]]) -> str:
    """Stand-ins of the passages that hold at least `SHARED` of the note's content words."""
    wanted = content_words(note)
    return " ".join(t for t, words in found if wanted and len(wanted & words) >= SHARED * len(wanted))


def _hidden(saved: StateSaved) -> str:
    if not saved.hidden:
        return '<p class="hid">Nothing is hidden from the agents.</p>'
    what = ", ".join(_count(h) for h in saved.hidden)
    rows = "".join(_record(r) for r in saved.state.get("history") or ())
    return (
        f'<details class="hid" data-k="hidden"><summary>Hidden from the next round: {esc(what)}. <u>show</u></summary>'
        f"<ul>{rows}</ul></details>"
    )


def _count(hidden: Hidden) -> str:
    return f"{hidden.count:,} {hidden.what} (about {plural(hidden.tokens, 'token')})"


def _record(record: Mapping[str, Any]) -> str:
    titles = "; ".join(h["passage"]["title"] or h["passage"]["id"] for h in record["hits"]) or "nothing new"
    return f"<li>round {int(record.get('round', 0))}: {esc(record['query'])} <i>→ {esc(titles)}</i></li>"
