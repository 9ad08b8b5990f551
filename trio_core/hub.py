"""The run hub: runs live here, outside any browser event, and every event is stored before anybody sees it.

A run does not wait for the store: the wish for it and its events go to the recorder, which stores what has gathered of all runs
in one transaction and then shows it. A store that fails ends the run.

Pages and the command line only look: `poll` returns what is new after a sequence number, for running and for stored runs alike,
so a reload, a second tab or a closed tab changes nothing for the run. The hub works inside one event loop
(`trio_core.loop_thread`); `poll` may be called from any thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple

from trio_core.driver import drive, stopped
from trio_core.errors import InputError, StoreError
from trio_core.events import BaseEvent, LLMCalled, RunStarted, TextDelta, is_end
from trio_core.fork import forked_events
from trio_core.live_run import LiveRun, LiveText, Snapshot
from trio_core.methods.base import Method
from trio_core.recorder import Line, Recorder
from trio_core.runs import ENDED, RunInfo, RunRequest, RunStore, new_run_id
from trio_core.settings import RunSettings
from trio_core.values import ForkPoint

log = logging.getLogger(__name__)

HEARTBEAT_S = 5.0
STALE_S = 20.0
"""A run without a heartbeat for so long belongs to an app that is gone."""


class Prepared(NamedTuple):
    """A method with its tools, and the first event to store."""

    method: Method
    started: RunStarted


class RunHub:
    """Starts, stops and continues runs; `prepare` builds the method for a request (it may wait for the engine)."""

    def __init__(self, prepare: Callable[[RunRequest], Awaitable[Prepared]], store: RunStore, settings: RunSettings) -> None:
        self._prepare = prepare
        self._store = store
        self._recorder = Recorder(store)
        self._settings = settings
        self._runs: dict[str, LiveRun] = {}
        self._line: list[str] = []
        self._slots = asyncio.Semaphore(settings.max_running)
        self._lock = threading.Lock()
        self._pulse: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Marks runs of a dead app as interrupted and begins the heartbeat."""
        await asyncio.to_thread(self._store.sweep, STALE_S)
        self._pulse = asyncio.create_task(self._beat())

    async def start(self, request: RunRequest) -> str:
        """Begins the run and returns once the wish is stored. Raises InputError for a question that cannot be asked, StoreError."""
        request = request.model_copy(update={"question": check_question(request.question, self._settings.question_chars)})
        run_id, run = new_run_id(), LiveRun(request, ())
        line = self._begin(run_id, run, request)
        try:
            await line.wished()
        except StoreError:  # there is no such run
            await self.wait(run_id)
            self.forget(run_id)
            raise
        return run_id

    async def resume(self, run_id: str) -> None:
        """Continues an interrupted, stopped or failed run from its last stored state."""
        info = await asyncio.to_thread(self._store.run, run_id)
        if info is None:
            raise InputError(f"run {run_id!r} does not exist")
        if info.status not in ENDED - {"finished"}:
            raise InputError(f"run {run_id!r} is {info.status}; only an interrupted, stopped or failed run can be continued")
        earlier = await asyncio.to_thread(self._store.events, run_id)
        await asyncio.to_thread(self._store.reopen_run, run_id)
        self._begin(run_id, LiveRun(info.request, earlier))

    def _begin(self, run_id: str, run: LiveRun, wish: RunRequest | None = None) -> Line:
        line = self._recorder.line(run_id, lambda event: self._show(run, event), lambda fault: _failed(run, fault), wish)
        with self._lock:
            self._runs[run_id] = run
            self._line.append(run_id)
        run.task = asyncio.create_task(self._work(run_id, run, line), name=f"run {run_id}")
        return line

    async def stop(self, run_id: str) -> None:
        """Stops a run: the server's call is closed, the stop is stored. Nothing happens to a run that has ended."""
        run = self._runs.get(run_id)
        if run is None or run.task is None or run.task.done():
            return
        with self._lock:
            going = _going(run)
            if going:
                run.status = "stopping"
        if going:
            run.cancel()
        await asyncio.wait([run.task])

    async def close(self) -> None:
        """Interrupts all runs; they can be continued after the next start."""
        if self._pulse:
            self._pulse.cancel()
        open_ = {run.task: run for run in self._runs.values() if run.task and not run.task.done()}
        for run in open_.values():
            if _going(run):
                run.stopping_as = "interrupted"
                run.cancel()
        if open_:
            await asyncio.wait(open_)

    async def wait(self, run_id: str) -> None:
        """Returns once a run of this process has ended."""
        run = self._runs.get(run_id)
        if run and run.task:
            await asyncio.wait([run.task])

    async def driven(self, run_id: str) -> None:
        """Returns once a run of this process asks nothing more of engine and retriever; `wait` tells when its end is stored."""
        run = self._runs.get(run_id)
        if run:
            await run.driven.wait()

    def forget(self, run_id: str) -> None:
        """Lets go of a run that has ended: `poll` reads it from the store from now on (a batch of thousands stays small)."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is not None and run.status in ENDED:
                del self._runs[run_id]

    def poll(self, run_id: str, after: int = -1) -> Snapshot | None:
        """What is new after `after`; None for an unknown run. From any thread."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is not None:
                waiting = self._line.index(run_id) if run_id in self._line else 0
                events = [e for e in run.events if e.seq > after]
                return Snapshot(events, run.live, run.status, waiting, run.fault)
        info = self._store.run(run_id)
        return Snapshot(self._store.events(run_id, after), None, info.status, 0) if info else None

    def info(self, run_id: str) -> RunInfo | None:
        """The stored facts of a run."""
        return self._store.run(run_id)

    def running(self) -> list[str]:
        """Ids of runs that have not ended."""
        with self._lock:
            return [i for i, r in self._runs.items() if r.status not in ENDED]

    async def _work(self, run_id: str, run: LiveRun, line: Line) -> None:
        run.begun = True
        try:
            try:
                await self._drive(run_id, run, line)
            finally:
                run.driven.set()
                await line.finish()
        except asyncio.CancelledError:
            if run.fault:
                self._unstored(run, run.fault)
            else:
                await self._end_from_outside(run_id, run)
        except StoreError as error:
            self._unstored(run, str(error))
        except Exception as error:  # a fault of ours must end the run visibly, never leave it "running"
            log.exception("run %s failed", run_id)
            await self._end_with_fault(run_id, run, error)
        finally:
            with self._lock:
                if run_id in self._line:
                    self._line.remove(run_id)
                run.live = None

    async def _drive(self, run_id: str, run: LiveRun, line: Line) -> None:
        """From the waiting line to the run's last event, which is on its way to the store then."""
        if run.cancelled:
            raise asyncio.CancelledError
        async with self._slots:
            with self._lock:
                self._line.remove(run_id)
                run.status = "running"
            await self._steps(run_id, run, line)

    async def _steps(self, run_id: str, run: LiveRun, line: Line) -> None:
        prepared = await self._prepare(run.request)
        if run.request.fork is not None and not run.events:
            await line.finish()
            await self._copy(run_id, run, prepared, run.request.fork)
        stream = drive(
            prepared.method, prepared.started, gold=run.request.gold, earlier=tuple(run.events), time_limit_s=self._settings.time_limit_s
        )
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, TextDelta):
                    self._show_text(run, event)
                else:
                    await line.put(event)  # type: ignore[arg-type]

    async def _copy(self, run_id: str, run: LiveRun, prepared: Prepared, point: ForkPoint) -> None:
        """Stores the fork's beginning: all of it, or nothing."""
        original = await asyncio.to_thread(self._store.events, point.run_id)
        events = forked_events(prepared.method, prepared.started, original, point)
        await asyncio.to_thread(self._store.append_all, run_id, events)
        for event in events:
            self._show(run, event)

    def _show_text(self, run: LiveRun, event: TextDelta) -> None:
        """Live text is shown and never stored."""
        before = run.live.text if run.live and (run.live.round, run.live.role) == (event.round, event.role) else ""
        run.live = LiveText(event.round, event.role, before + event.text)

    def _show(self, run: LiveRun, event: BaseEvent) -> None:
        with self._lock:
            run.events.append(event)  # type: ignore[arg-type]
            if isinstance(event, LLMCalled) and run.live and (run.live.round, run.live.role) == (event.round, event.role):
                run.live = None
            if is_end(event):
                run.status = getattr(event, "status", "finished")

    async def _end_from_outside(self, run_id: str, run: LiveRun) -> None:
        if run.events and is_end(run.events[-1]) and run.status in ENDED:
            return
        message = "stopped by hand" if run.stopping_as == "stopped" else "the app was closed during this run; it can be continued"
        await self._store_end(run_id, run, stopped(run.events, run.stopping_as, message))

    async def _end_with_fault(self, run_id: str, run: LiveRun, error: Exception) -> None:
        event = stopped(run.events, "failed", f"{type(error).__name__}: {error}")
        acts = getattr(error, "acts", "developer")
        await self._store_end(run_id, run, event.model_copy(update={"error": type(error).__name__, "message": str(error), "acts": acts}))

    async def _store_end(self, run_id: str, run: LiveRun, event: BaseEvent) -> None:
        try:
            await asyncio.to_thread(self._store.append, run_id, event)  # type: ignore[arg-type]
        except StoreError as error:
            self._unstored(run, str(error))
        else:
            self._show(run, event)

    def _unstored(self, run: LiveRun, fault: str) -> None:
        log.error("the store failed: %s", fault)
        with self._lock:
            run.status, run.fault = "failed", fault

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            try:
                await asyncio.to_thread(self._store.heartbeat, self.running())
                await asyncio.to_thread(self._store.sweep, STALE_S)
            except StoreError as error:
                log.warning("heartbeat: %s", error)


def _going(run: LiveRun) -> bool:
    """Whether a stop has something to stop. A second cancel would hit the storing of the first one's end, one after the end the end itself."""
    return run.status != "stopping" and run.status not in ENDED


def _failed(run: LiveRun, fault: StoreError) -> None:
    """A store that fails ends the run."""
    run.fault = str(fault)
    run.cancel()


def check_question(question: str, limit: int) -> str:
    """The question without surrounding white space. Raises InputError when empty or longer than `limit` characters."""
    text = " ".join(question.replace("\x00", "").split())
    if not text:
        raise InputError("the question is empty; type one or pick an example")
    if len(text) > limit:
        raise InputError(f"the question has {len(text):,} characters; at most {limit:,} are allowed (setting runs.question_chars)")
    return text
