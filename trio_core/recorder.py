"""From runs to the store: what has gathered of all runs, wishes and events, is stored in one transaction, and only then shown.

No run waits for the store: it puts its events on its line and goes on, and waits only when it is far ahead. A store that
refuses a batch is asked again run by run, so that one run's fault stays its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from trio_core.errors import StoreError
from trio_core.events import StoredEvent
from trio_core.runs import RunRequest, RunStore

PENDING = 256
"""Events of a run that may wait for the store before the run waits too."""


class Line:
    """One run's way to the store. `show` gets each event once it is stored, `failed` the fault that ends the line."""

    def __init__(self, recorder: Recorder, run_id: str, show: Callable[[StoredEvent], None], failed: Callable[[StoreError], None],
                 wish: RunRequest | None) -> None:
        self.run_id, self.show, self.failed, self.wish = run_id, show, failed, wish
        self.waiting: list[StoredEvent] = []
        self.storing = 0
        self.fault: StoreError | None = None
        self.moved = asyncio.Event()
        self._recorder = recorder

    async def put(self, event: StoredEvent) -> None:
        """Returns at once unless `PENDING` events wait; an event after a fault goes nowhere."""
        while len(self.waiting) + self.storing >= PENDING and self.fault is None:
            await self._move()
        if self.fault is None:
            self.waiting.append(event)
            self._recorder.wake(self)

    async def wished(self) -> None:
        """Returns once the wish is stored. Raises StoreError where it cannot be."""
        while self.wish is not None and self.fault is None:
            await self._move()
        if self.wish is not None and self.fault is not None:
            raise self.fault

    async def finish(self) -> None:
        """Returns once all is stored and shown, even while the run is being cancelled; the cancellation comes after."""
        cancelled: asyncio.CancelledError | None = None
        while (self.wish or self.waiting or self.storing) and self.fault is None:
            try:
                await self._move()
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _move(self) -> None:
        self.moved.clear()
        await self.moved.wait()


class Recorder:
    """The one writer of a hub. Works inside one event loop; its task lives only while events wait."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._ready: dict[str, Line] = {}
        self._task: asyncio.Task[None] | None = None

    def line(self, run_id: str, show: Callable[[StoredEvent], None], failed: Callable[[StoreError], None],
             wish: RunRequest | None = None) -> Line:
        """A line for one run; `wish` = the run is new, and this is stored before its events."""
        line = Line(self, run_id, show, failed, wish)
        if wish is not None:
            self.wake(line)
        return line

    def wake(self, line: Line) -> None:
        """The line has events waiting."""
        self._ready[line.run_id] = line
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="recorder")

    async def _work(self) -> None:
        while self._ready:
            lines, self._ready = list(self._ready.values()), {}
            batch = {line.run_id: self._take(line) for line in lines}
            wishes = {line.run_id: line.wish for line in lines if line.wish is not None}
            faults = await asyncio.to_thread(self._write, batch, wishes)
            for line in lines:
                self._done(line, batch[line.run_id], faults.get(line.run_id))

    def _take(self, line: Line) -> Sequence[StoredEvent]:
        events, line.waiting = line.waiting, []
        line.storing = len(events)
        return events

    def _write(self, batch: dict[str, Sequence[StoredEvent]], wishes: dict[str, RunRequest]) -> dict[str, StoreError]:
        """Faults by run."""
        fault = _fault_of(lambda: self._store.append_runs(batch, wishes))
        if fault is None or len(batch) == 1:
            return dict.fromkeys(batch, fault) if fault else {}
        alone = {run_id: _fault_of(partial(self._write_one, run_id, events, wishes.get(run_id))) for run_id, events in batch.items()}
        return {run_id: fault for run_id, fault in alone.items() if fault}

    def _write_one(self, run_id: str, events: Sequence[StoredEvent], wish: RunRequest | None) -> None:
        if wish is not None:
            self._store.append_runs({run_id: events}, {run_id: wish})
        else:
            self._store.append_all(run_id, events)

    def _done(self, line: Line, events: Sequence[StoredEvent], fault: StoreError | None) -> None:
        line.storing = 0
        if fault is None:
            line.wish = None
            for event in events:
                line.show(event)
        else:
            line.fault, line.waiting = fault, []
            line.failed(fault)
        line.moved.set()


def _fault_of(write: Callable[[], None]) -> StoreError | None:
    """What went wrong; a fault of ours too, since a line that nobody serves would never end."""
    try:
        write()
    except StoreError as error:
        return error
    except Exception as error:
        return StoreError(f"{type(error).__name__}: {error}")
    return None
