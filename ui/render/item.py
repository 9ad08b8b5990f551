"""A label item in HTML: first exactly what the judge saw; what judges and gold say only after one's own answer.

Everything from models, corpora and people is escaped here; `item_body` gets no verdict and no label, so it cannot show one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from storage.values import GoldLabel, LabelItem, MachineVerdict
from trio_core.values import PoolEntry
from ui.render.base import esc

WORDS = {"sufficient": "Sufficient", "insufficient": "Insufficient", "unsure": "Can't tell", "skip": "Skipped",
         "unparsed": "Unparsed", "conflict": "Conflict", "withdrawn": "Withdrawn", "mixed": "Mixed"}
SHAPES = {"sufficient": "●", "insufficient": "○"}
"""Verdicts are told apart by word and shape, never by colour alone."""
DECIDED = ("sufficient", "insufficient")


def tag(value: str) -> str:
    """A label or verdict as a small badge: shape, word, colour."""
    known = value if value in WORDS else "unparsed"
    return f'<span class="an-tag an-{known}"><i aria-hidden="true">{SHAPES.get(known, "–")}</i>{esc(WORDS.get(value, value))}</span>'


def clock(moment: datetime) -> str:
    """A time of day; the browser puts it into its own time zone (`data-clock`)."""
    return f'<time datetime="{moment.isoformat()}" data-clock>{moment.astimezone():%H:%M:%S}</time>'


def item_body(item: LabelItem) -> str:
    """Question, queries with their passages in full, and the exact prompt."""
    question = item.item.question
    groups = "".join(_group(n, entry, question) for n, entry in enumerate(item.item.pool, start=1))
    empty = '<p class="an-none">The judge saw no passage: nothing was found.</p>' if not item.item.passage_ids else ""
    return ('<p class="an-lead">Do these passages hold enough to answer the question correctly?</p>'
            f'<h2 class="an-question">{esc(question)}</h2>{empty}{groups}{exact_prompt(item)}')


def _group(number: int, entry: PoolEntry, question: str) -> str:
    query = "the question itself" if entry.query.strip() == question.strip() else entry.query
    passages = "".join(
        f'<article class="an-passage"><h4>{esc(hit.passage.title or "Untitled")}</h4><p>{esc(hit.passage.text)}</p></article>'
        for hit in entry.hits)
    nothing = "" if entry.hits else '<p class="an-none">Nothing found for this query.</p>'
    return (f'<section class="an-group"><h3>Query {number}<span> · {esc(query)}</span></h3>{passages}{nothing}</section>')


def exact_prompt(item: LabelItem) -> str:
    """The messages word for word, folded away."""
    messages = item.item.messages
    size = sum(len(message.content) for message in messages)
    body = "".join(f"<h3>{esc(m.role)}</h3><pre>{esc(m.content)}</pre>" for m in messages)
    return (f'<details class="an-prompt"><summary>Exact prompt <span>{len(messages)} messages, {size:,} characters</span></summary>'
            f"{body}</details>")


def latest_by_judge(verdicts: Sequence[MachineVerdict]) -> list[MachineVerdict]:
    """Each judge's last word, the newest first."""
    last = {verdict.judge: verdict for verdict in verdicts}
    return sorted(last.values(), key=lambda verdict: verdict.created, reverse=True)


def comparison(value: str, verdicts: Sequence[MachineVerdict]) -> str:
    """One's own label against the newest verdict, in words. Plain text."""
    if not verdicts:
        return "no judge has seen this item"
    newest = latest_by_judge(verdicts)[0]
    p = "" if newest.p_sufficient is None else f"p {newest.p_sufficient:.2f}"
    if newest.label == "unparsed":
        return "judge's reply could not be read"
    if value in DECIDED:
        said = "judge agrees" if value == newest.label else "judge disagreed"
        return f"{said} ({p})" if p else said
    return f"judge: {', '.join(part for part in (WORDS[newest.label], p) if part)}"


def gold_words(value: str, gold: GoldLabel | None) -> str:
    """The gold label where it is known, and whether it is one's own. Plain text, empty where unknown."""
    if gold is None:
        return ""
    if value in DECIDED:
        return "gold agrees" if value == gold.label else f"gold: {WORDS[gold.label]}"
    return f"gold: {WORDS[gold.label]}"


def p_bar(p: float | None, threshold: float, label: str) -> str:
    """P(sufficient) as a bar with the threshold marked, and the figure."""
    if p is None:
        return '<span class="an-p">no probability</span>'
    side = "an-insufficient" if label == "insufficient" else "an-sufficient"
    return (f'<span class="an-bar {side}" role="img" aria-label="P(sufficient) {p:.2f}, threshold {threshold:.2f}" '
            f'title="P(sufficient) {p:.2f}, threshold {threshold:.2f}"><span style="width:{_percent(p)}%"></span>'
            f'<em style="left:{_percent(threshold)}%"></em></span><span class="an-p">p {p:.2f}</span>')


def _percent(share: float) -> str:
    return f"{100 * min(1.0, max(0.0, share)):.1f}"
