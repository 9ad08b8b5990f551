"""Evaluations of an app: ordered, worked on in the background one at a time, stopped, continued after a restart, listed from disk."""

from __future__ import annotations

import logging
import re
import secrets
import threading
from pathlib import Path
from typing import Literal

from trio_core.errors import InputError, TrioscopeError
from trio_core.evaluation.folder import FILE
from trio_core.evaluation.order import FILE as ORDER
from trio_core.evaluation.order import Order, read_order, write_order
from trio_core.evaluation.places import allowed
from trio_core.evaluation.report import ROWS
from trio_core.evaluation.results import Results
from trio_core.evaluation.task import EvaluationTask
from trio_core.evaluation.values import EvaluationStore, Progress
from trio_core.evaluation.wish import entrants_of, make_ready
from trio_core.settings import Settings
from trio_core.values import Value
from trio_core.workbench import Workbench
from trio_core.workbench_side import SideBench, side_settings

log = logging.getLogger(__name__)
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
State = Literal["preparing", "running", "stopping", "done", "stopped", "failed"]


class Standing(Value):
    """Where an evaluation stands. `order` is null for one that the command line made; it is only shown."""

    id: str
    state: State
    order: Order | None
    progress: Progress
    message: str = ""

    @property
    def active(self) -> bool:
        """True while this app works on it."""
        return self.state in ("preparing", "running", "stopping")


class _Sitting:
    """The evaluation at work."""

    def __init__(self, name: str) -> None:
        self.name, self.message = name, "reading the questions"
        self.task: EvaluationTask | None = None
        self.stopping = threading.Event()
        self.ended = threading.Event()


class EvaluationService:
    """The evaluations in `<data_dir>/evaluations`, a folder each."""

    def __init__(self, settings: Settings, store: EvaluationStore, bench: Workbench) -> None:
        self._settings, self._store, self._bench = settings, store, bench
        self.root = settings.data_dir / "evaluations"
        self.results = Results(self.root)
        self._lock = threading.Lock()
        self._sitting: _Sitting | None = None

    def begin(self, order: Order) -> str:
        """Checks an order and starts it in the background; its id. Raises InputError, SettingsError."""
        order = self._checked(order)
        name = f"eval-{secrets.token_hex(5)}"
        self._start(name, order)
        return name

    def go_on(self, name: str, retry_failed: bool = False) -> None:
        """Works on an evaluation again: what is done stays done. Raises InputError."""
        order = self.standing(name).order
        if order is None:
            raise InputError(f"{name} was begun on the command line; the same command goes on with it")
        wish = order.wish.model_copy(update={"retry_failed": retry_failed})
        self._start(name, self._checked(order.model_copy(update={"wish": wish, "error": ""})))

    def stop(self, name: str) -> None:
        """Stops the evaluation at work; returns once its runs are stored as stopped. Raises InputError where it is not at work."""
        sitting = self._sitting
        if sitting is None or sitting.name != name:
            raise InputError(f"{name} is not at work here")
        sitting.stopping.set()
        if sitting.task is not None:
            sitting.task.stop()
        sitting.ended.wait(60)

    def close(self) -> None:
        """Stops what is at work; it goes on after the next start when somebody says so."""
        if self._sitting is not None:
            self.stop(self._sitting.name)

    def standings(self) -> list[Standing]:
        """All evaluations, newest first."""
        if not self.root.is_dir():
            return []
        names = [f.name for f in self.root.iterdir() if NAME.fullmatch(f.name) and ((f / FILE).exists() or (f / ORDER).exists())]
        found = [self._readable(name) for name in names]
        return sorted(found, key=lambda s: (s.order is not None, s.order.created.isoformat() if s.order else s.id), reverse=True)

    def _readable(self, name: str) -> Standing:
        """A folder with a damaged file is shown as such and does not take the list down."""
        try:
            return self.standing(name)
        except TrioscopeError as error:
            return Standing(id=name, state="failed", order=None, progress=Progress(total=0), message=str(error))

    def standing(self, name: str) -> Standing:
        """One evaluation. Raises InputError where there is none of this name."""
        folder = self.folder(name)
        order, sitting = read_order(folder), self._sitting
        if sitting is not None and sitting.name == name:
            task = sitting.task
            state: State = "stopping" if sitting.stopping.is_set() else "running" if task else "preparing"
            kept = self._stored(name, order)
            return Standing(id=name, state=state, order=order, progress=task.progress if task else kept, message=sitting.message)
        progress = self._stored(name, order)
        if order is not None and order.error:
            return Standing(id=name, state="failed", order=order, progress=progress, message=order.error)
        done = progress.done >= progress.total > 0 or order is None
        return Standing(id=name, state="done" if done else "stopped", order=order, progress=progress)

    def folder(self, name: str) -> Path:
        """Its folder. Raises InputError for a name that is none of ours."""
        folder = self.root / name
        if not NAME.fullmatch(name) or not folder.is_dir():
            raise InputError(f"evaluation {name!r} does not exist; choose one from the list")
        return folder

    def _stored(self, name: str, order: Order | None) -> Progress:
        spent = self.results.spent(name)
        return Progress(total=max(order.total if order else 0, spent.runs), done=spent.runs, failed=spent.failed)

    def _checked(self, order: Order) -> Order:
        """Methods, places and numbers, so that mistakes are told at once and not by a failed sitting."""
        entrants_of(order.wish, self._settings)
        most = self._settings.runs.max_running
        if not 1 <= order.concurrency <= most:
            raise InputError(f"{order.concurrency} runs at once cannot be; the app works on 1 to {most} (setting runs.max_running)")
        if order.wish.sample and order.wish.limit is None:
            raise InputError("a sample needs a limit: how many questions to draw")
        corpus = allowed(order.corpus, self._settings) if order.corpus else ""
        corpus = "" if corpus == self._settings.retriever.corpus else corpus
        if corpus:
            side_settings(self._settings, corpus)
        dataset = allowed(order.wish.dataset, self._settings)
        return order.model_copy(update={"corpus": corpus, "wish": order.wish.model_copy(update={"dataset": dataset})})

    def _start(self, name: str, order: Order) -> None:
        with self._lock:
            if self._sitting is not None:
                raise InputError(f"{self._sitting.name} is at work; one evaluation works at a time: stop it, or wait for its end")
            sitting = self._sitting = _Sitting(name)
        folder = self.root / name
        write_order(folder, order)
        threading.Thread(target=self._work, args=(sitting, folder, order), name=f"sitting of {name}", daemon=True).start()

    def _work(self, sitting: _Sitting, folder: Path, order: Order) -> None:
        error = ""
        try:
            if order.corpus:
                side = SideBench(self._bench, side_settings(self._settings, order.corpus))
                try:
                    sitting.message = "opening the index of the corpus"
                    side.bring_up(wait=True)
                    self._sit(sitting, folder, order, side)
                finally:
                    side.close()
            else:
                self._sit(sitting, folder, order, self._bench)
        except TrioscopeError as fault:
            error = str(fault)
        except Exception as fault:  # shown on the page; the app goes on
            log.exception("evaluation %s failed", sitting.name)
            error = f"{type(fault).__name__}: {fault}"
        finally:
            if error:
                write_order(folder, (read_order(folder) or order).model_copy(update={"error": error}))
            self.results.forget(sitting.name)
            self._sitting = None
            sitting.ended.set()

    def _sit(self, sitting: _Sitting, folder: Path, order: Order, bench: Workbench) -> None:
        sitting.message = "reading the questions and looking for their evidence"
        bench.call(bench.ready())
        ready = make_ready(order.wish, bench.settings, folder, bench.engine.judge.name, sitting.name)
        plan = ready.plan
        write_order(folder, order.model_copy(update={"questions": len(plan.questions), "data": ready.data, "evidence": ready.evidence}))
        task = EvaluationTask(bench, self._store, ready, folder, order.concurrency)
        if sitting.stopping.is_set():
            return
        sitting.task, sitting.message = task, ""
        task.begin()
        if sitting.stopping.is_set():  # asked for between the two lines above
            task.stop()
        try:
            task.wait()
        finally:
            if (folder / ROWS).exists():
                task.report(order.command(folder, self._settings.profile))
