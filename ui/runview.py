"""One run as blocks of HTML, kept up to date from the workbench; shared by all browsers that look at it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from storage.values import StoredLabel
from trio_core.errors import InputError
from trio_core.live_run import LiveText, Snapshot
from trio_core.methods import METHODS
from trio_core.runs import ENDED, RunInfo
from trio_core.trace import Round, Trace
from ui.context import UiContext
from ui.render.base import Block, esc
from ui.render.fix import fix_html
from ui.render.progress import live_html, rows_html, step_words
from ui.render.round import fix_slot, live_slot, round_html
from ui.render.summary import Standing, summary_html

KEPT = 64


class RunView:
    """Trace, standing and the HTML of the rounds so far. Rounds are rendered again only when an event touches them."""

    def __init__(self, ctx: UiContext, info: RunInfo) -> None:
        self._ctx = ctx
        self._lock = threading.Lock()
        self.trace = Trace()
        self.live: LiveText | None = None
        kind = METHODS.get(info.method)
        self.standing = Standing(info, kind.title if kind else info.method, info.status)
        self._rounds: dict[int, str] = {}
        self._settled: set[int] = set()
        self._labels: dict[int, list[StoredLabel]] = {}

    @property
    def ended(self) -> bool:
        """Nothing will change any more."""
        return self.standing.status in ENDED

    def update(self, snapshot: Snapshot, fresh: bool) -> None:
        """Takes what is new. `fresh`: a browser that starts from nothing also wants labels given elsewhere since."""
        with self._lock:
            for event in snapshot.events:
                if event.seq > self.trace.last_seq:  # two browsers may have asked for the same events
                    self.trace.add(event)
            self.live = snapshot.live
            self.standing = self.standing._replace(
                status=snapshot.status, waiting=snapshot.waiting, fault=snapshot.fault, began=self._began(snapshot),
                step=step_words(self.trace, snapshot.live),
            )
            if snapshot.events:
                self._render()
            if fresh or snapshot.events:
                self._read_labels(fresh)

    def _began(self, snapshot: Snapshot) -> float | None:
        """The hub tells seconds since the start only with an event: the earliest guess is the best one."""
        if not snapshot.events or snapshot.status in ENDED:
            return self.standing.began
        guess = time.time() - snapshot.events[-1].t
        return min(guess, self.standing.began or guess)

    def _render(self) -> None:
        """A round is settled once it was rendered with its state: nothing touches it any more."""
        settled = self._settled
        self._rounds = {
            r.number: self._rounds[r.number] if r.number in settled else round_html(self.trace, r, self.standing.info.id)
            for r in self.trace.rounds
        }
        self._settled = {r.number for r in self.trace.rounds if r.complete}

    def _read_labels(self, fresh: bool) -> None:
        for round_ in self.trace.rounds:
            if round_.verdict is not None and (fresh or round_.number not in self._labels):
                self._labels[round_.number] = self._labels_of(round_)

    def refresh_fix(self, number: int) -> None:
        """Reads the labels of one round again, after one was saved or undone."""
        with self._lock:
            self._labels[number] = self._labels_of(self.round(number))

    def round(self, number: int) -> Round:
        """A judged round. Raises InputError."""
        found = next((r for r in self.trace.rounds if r.number == number and r.verdict is not None), None)
        if found is None:
            raise InputError(f"round {number} of this run has no verdict to correct")
        return found

    def _labels_of(self, round_: Round) -> list[StoredLabel]:
        assert round_.verdict is not None
        item = self._ctx.store.item_by_hash(round_.verdict.item.content_hash)
        return self._ctx.store.current_labels(item.id) if item else []

    def blocks(self, column: int, who: str | None = None) -> Iterator[Block]:
        """Summary, rounds, corrections, text being written; labels of others only where `who` has given one."""
        with self._lock:
            run_id = self.standing.info.id
            yield Block(f"{run_id}:sum", summary_html(self.trace, self.standing), 1, column + 1)
            for round_ in self.trace.rounds:
                yield Block(f"{run_id}:{round_.number}", self._rounds[round_.number], round_.number + 1, column + 1)
                if round_.verdict is not None and round_.number in self._labels:
                    fix = fix_html(run_id, round_.number, self._labels[round_.number], who)
                    yield Block(f"{run_id}:{round_.number}:fix", fix, into=fix_slot(run_id, round_.number))
            if not self.ended and not self.trace.end:
                last = self.trace.rounds[-1] if self.trace.rounds else None
                number = 0 if last is None or last.complete else last.number
                yield Block(f"{run_id}:live", live_html(self.trace, self.live, self.standing.status), into=live_slot(run_id, number))


class Views:
    """The runs that browsers look at; the least recently seen are forgotten (the store has them)."""

    def __init__(self, ctx: UiContext) -> None:
        self._ctx = ctx
        self._lock = threading.Lock()
        self._views: OrderedDict[str, RunView] = OrderedDict()

    def __getitem__(self, run_id: str) -> RunView:
        with self._lock:
            if run_id in self._views:
                self._views.move_to_end(run_id)
                return self._views[run_id]
        info = self._ctx.store.run(run_id)
        if info is None:
            raise InputError(f"run {run_id!r} is not in this store; find a run under Runs")
        with self._lock:
            view = self._views.setdefault(run_id, RunView(self._ctx, info))
            while len(self._views) > KEPT:
                self._views.popitem(last=False)
            return view

    def update(self, run_id: str, fresh: bool = False) -> RunView:
        """The run as it is now. Raises InputError for an unknown id."""
        view = self[run_id]
        if view.ended and not fresh and view.trace.last_seq >= 0:
            return view
        snapshot = self._ctx.workbench.poll(run_id, view.trace.last_seq)
        if snapshot is not None:
            view.update(snapshot, fresh)
        return view

    def reopened(self, run_id: str) -> None:
        """A run was continued: it is not ended any more."""
        view = self[run_id]
        view.standing = view.standing._replace(status="queued")

    def row_labels(self, ids: Sequence[str]) -> Iterator[Block]:
        """The rounds' numbers and times, and a word where a run has no such round."""
        views = [self[i] for i in ids]
        for number in range(1, max((len(v.trace.rounds) for v in views), default=0) + 1):
            times = [(v.standing.title, next((r for r in v.trace.rounds if r.number == number), None)) for v in views]
            yield Block(f"row:{number}", rows_html(number, times), number + 1, 1)
            for column, view in enumerate(views, 1):
                if view.ended and number > len(view.trace.rounds):
                    text = f'<p class="none">{esc(f"no round {number}: ended after {len(view.trace.rounds)}")}</p>'
                    yield Block(f"none:{view.standing.info.id}:{number}", text, number + 1, column + 1)

    def notes(self, ids: Sequence[str]) -> list[str]:
        """What a reader of a comparison should know."""
        questions = {self[i].standing.info.question for i in ids}
        return ["These runs answer different questions."] if len(questions) > 1 else []
