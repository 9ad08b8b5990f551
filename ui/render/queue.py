"""The queue's controls: which items, in which order; and the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def queue_words(queue: QueueChoice) -> str:
    """One line for the closed controls."""
    kind = METHODS.get(queue.method)
    parts = [
        ORDERS[queue.order] if queue.show != "skipped" else "", SHOWS[queue.show] if queue.show != "new" else "",
        kind.title if kind else queue.method, queue.dataset, f"round {queue.round}" if queue.round >= 0 else "",
        f"judged by {queue.judge}" if queue.judge else "",
        f"{_overlap(queue.overlap)} an item" if queue.overlap != 1 and queue.show != "calibration" else "",
    ]
    return esc(" · ".join(part for part in parts if part))


def _overlap(n: int) -> str:
    return OVERLAPS.get(n, f"{n} people")


def filters_html(queue: QueueChoice, judges: Iterable[str]) -> str:
    """The form's fields; the script sends it as it stands with every act."""
    methods = {"": "any", **{name: kind.title for name, kind in METHODS.items()}}
    rounds = {"-1": "any", **{str(n): str(n) for n in range(MOST_ROUNDS + 1)}}
    given = {"": "any", **{name: name for name in judges}}
    overlaps = {str(n): words for n, words in OVERLAPS.items()}
    return "".join((
        _select("show", "Show", dict(SHOWS), queue.show), _select("order", "Order", dict(ORDERS), queue.order),
        _select("method", "Method", methods, queue.method),
        f'<label>Data set<input name="dataset" maxlength="100" placeholder="any" value="{esc(queue.dataset)}"></label>',
        _select("round", "Round", rounds, str(queue.round)), _select("judge", "Judged by", given, queue.judge),
        _select("overlap", "Each item to", overlaps, str(queue.overlap)),
    ))


def _select(name: str, title: str, values: Mapping[str, str], chosen: str) -> str:
    known = dict(values) if chosen in values else {**values, chosen: chosen}
    options = "".join(f'<option value="{esc(v)}"{" selected" if v == chosen else ""}>{esc(words)}</option>' for v, words in known.items())
    return f'<label>{title}<select name="{name}">{options}</select></label>'
