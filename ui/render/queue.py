"""The queue's controls: which items, in which order; and the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from storage.annotation_values import QueueRule
from storage.values import QueueOrder
from trio_core.methods import METHODS
from ui.annotating import QueueChoice, Show
from ui.render.base import esc

ORDERS: dict[QueueOrder, str] = {
    "uncertain": "most uncertain first", "disagreement": "disagreements first", "balance": "rarer class first", "oldest": "oldest first",
}
SHOWS: dict[Show, str] = {"new": "items new to me", "skipped": "items I skipped", "calibration": "calibration round, known answers"}
OVERLAPS = {1: "one person", 2: "two people", 3: "three people", 0: "everybody"}
MOST_ROUNDS = 10


class Given(NamedTuple):
    """What the controls offer beside fixed choices. `admin`: the asker may change the rule."""

    judges: Sequence[str]
    datasets: Sequence[str]
    rule: QueueRule
    admin: bool


def queue_words(queue: QueueChoice, overlap: int | None) -> str:
    """One line for the closed controls."""
    kind = METHODS.get(queue.method)
    parts = [
        ORDERS[queue.order] if queue.show != "skipped" else "", SHOWS[queue.show] if queue.show != "new" else "",
        kind.title if kind else queue.method, queue.dataset, f"round {queue.round}" if queue.round >= 0 else "",
        f"judged by {queue.judge}" if queue.judge else "",
        f"{overlap_words(overlap)} an item" if overlap != 1 and queue.show != "calibration" else "",
    ]
    return esc(" · ".join(part for part in parts if part))


def overlap_words(n: int | None) -> str:
    """'two people', 'everybody'."""
    return OVERLAPS.get(n or 0, f"{n} people")


def filters_html(queue: QueueChoice, given: Given) -> str:
    """The form's fields; the script sends it as it stands with every act. The rule is no field of it: it is everybody's."""
    methods = {"": "any", **{name: kind.title for name, kind in METHODS.items()}}
    rounds = {"-1": "any", **{str(n): str(n) for n in range(MOST_ROUNDS + 1)}}
    return "".join((
        _select("show", "Show", dict(SHOWS), queue.show), _select("order", "Order", dict(ORDERS), queue.order),
        _select("method", "Method", methods, queue.method),
        _select("dataset", "Data set", _any(given.datasets), queue.dataset),
        _select("round", "Round", rounds, str(queue.round)), _select("judge", "Judged by", _any(given.judges), queue.judge), _rule(given),
    ))


def _any(names: Iterable[str]) -> dict[str, str]:
    return {"": "any", **{name: name for name in names}}


def _rule(given: Given) -> str:
    """How many people an item goes to: a choice for admins, words for others."""
    words, by = overlap_words(given.rule.overlap), f", set by {given.rule.by}" if given.rule.by else ""
    if not given.admin:
        return f'<p class="an-rule">Each item goes to {esc(words + by)}.</p>'
    now = str(given.rule.overlap or 0)
    values = {**{str(n): name for n, name in OVERLAPS.items()}, now: words}
    options = "".join(f'<option value="{n}"{" selected" if n == now else ""}>{esc(name)}</option>' for n, name in values.items())
    return f'<label>Each item to, for everybody<select data-rule="overlap">{options}</select></label>'


def _select(name: str, title: str, values: Mapping[str, str], chosen: str) -> str:
    known = dict(values) if chosen in values else {**values, chosen: chosen}
    options = "".join(f'<option value="{esc(v)}"{" selected" if v == chosen else ""}>{esc(words)}</option>' for v, words in known.items())
    return f'<label>{title}<select name="{name}">{options}</select></label>'
