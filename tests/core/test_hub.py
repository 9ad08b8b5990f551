"""The hub: stored before shown, stop, continue, waiting line, a store that fails."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Awaitable
from typing import Any

import pytest

from tests.core.helpers import method_of
from trio_core.errors import InputError, StoreError
from trio_core.events import RunFailed, RunFinished, RunStarted, StoredEvent
from trio_core.hub import Prepared, RunHub
from trio_core.memory_store import MemoryStore
from trio_core.runs import RunRequest
from trio_core.settings import RunSettings

YES = {"text": "Sufficient Information", "p_sufficient": 0.9}
NO = {"text": "Insufficient Information", "p_sufficient": 0.1}
QUICK = {"judge": [YES], "answer": ["Delft"]}
SLOW = {"judge": [NO, YES], "query": [{"text": "Bea Cole", "delay_s": 30}], "answer": ["Delft"]}


def hub_of(script: Any, store: Any = None, **settings: Any) -> RunHub:
    async def prepare(request: RunRequest) -> Prepared:
        return Prepared(method_of(request.method, script), RunStarted(question=request.question, method=request.method))

    return RunHub(prepare, store or MemoryStore(), RunSettings(**settings))


def ask(question: str = "Who directed Alpha?") -> RunRequest:
    return RunRequest(question=question, method="trio")


async def until_event(hub: RunHub, run_id: str, kind: str) -> None:
    while not any(e.type == kind for e in hub.poll(run_id).events):
        await asyncio.sleep(0.005)


async def test_shows_exactly_what_is_stored() -> None:
    store = MemoryStore()
    hub = hub_of(QUICK, store)
    run_id = await hub.start(ask())
    await hub.wait(run_id)
    snapshot = hub.poll(run_id)
    assert list(snapshot.events) == list(store.events(run_id)) and snapshot.status == "finished"
    assert [e.seq for e in hub.poll(run_id, after=3).events] == [e.seq for e in snapshot.events[4:]]


async def test_an_event_that_cannot_be_stored_is_not_shown() -> None:
    class Full(MemoryStore):
        def append(self, run_id: str, event: StoredEvent) -> None:
            if event.seq >= 2:
                raise StoreError("disk full: free some space")
            super().append(run_id, event)

    store = Full()
    hub = hub_of(QUICK, store)
    run_id = await hub.start(ask())
    await hub.wait(run_id)
    snapshot = hub.poll(run_id)
    assert snapshot.status == "failed" and "disk full" in snapshot.fault
    assert list(snapshot.events) == list(store.events(run_id))[: len(snapshot.events)] and len(snapshot.events) <= 2


async def test_a_failing_store_ends_a_run_in_the_middle_of_a_call() -> None:
    class Gone(MemoryStore):
        def append(self, run_id: str, event: StoredEvent) -> None:
            raise StoreError("the disk is gone")

    hub = hub_of({"judge": [{**NO, "delay_s": 60}]}, Gone())
    run_id = await hub.start(ask())
    await asyncio.wait_for(hub.wait(run_id), 20)
    assert hub.poll(run_id).status == "failed" and not hub.poll(run_id).events


class Held(MemoryStore):
    """Stores nothing until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def append_runs(self, batch: Any, wishes: Any) -> None:
        assert self.go.wait(60)
        super().append_runs(batch, wishes)


async def test_a_run_begins_before_the_wish_is_stored_and_shows_nothing_until_then() -> None:
    asked, store = asyncio.Event(), Held()

    async def prepare(request: RunRequest) -> Prepared:
        asked.set()
        return Prepared(method_of("trio", QUICK), RunStarted(question=request.question, method="trio"))

    hub = RunHub(prepare, store, RunSettings())
    start = asyncio.create_task(hub.start(ask()))
    await asyncio.wait_for(asked.wait(), 60)
    [run_id] = hub.running()
    await asyncio.wait_for(hub.driven(run_id), 60)
    assert not hub.poll(run_id).events and not start.done() and store.run(run_id) is None
    store.go.set()
    assert await start == run_id
    await hub.wait(run_id)
    assert list(hub.poll(run_id).events) == list(store.events(run_id)) and hub.poll(run_id).status == "finished"


async def test_closing_before_the_wish_is_stored_keeps_wish_and_end() -> None:
    store = Held()
    hub = hub_of(SLOW, store)
    start = asyncio.create_task(hub.start(ask()))
    while not hub.running():
        await asyncio.sleep(0)
    close = asyncio.create_task(hub.close())
    await asyncio.sleep(0)
    store.go.set()
    await close
    assert store.run(await start).status == "interrupted"


async def test_a_wish_that_cannot_be_stored_is_no_run() -> None:
    class Locked(MemoryStore):
        def append_runs(self, batch: Any, wishes: Any) -> None:
            raise StoreError("the store is locked")

    hub = hub_of(QUICK, Locked())
    with pytest.raises(StoreError, match="locked"):
        await hub.start(ask())
    assert not hub.running() and hub._runs == {} and hub._line == []


async def test_a_forgotten_run_needs_no_collector_to_go() -> None:
    hub = hub_of(QUICK)
    gc.disable()
    try:
        run_id = await hub.start(ask())
        kept = weakref.ref(hub._runs[run_id])
        await hub.wait(run_id)
        hub.forget(run_id)
        for _ in range(3):  # the loop's own references to the ended task
            await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()


async def test_stop_is_stored_and_the_run_can_go_on() -> None:
    store = MemoryStore()
    hub = hub_of(SLOW, store)
    run_id = await hub.start(ask())
    await until_event(hub, run_id, "state_saved")
    await hub.stop(run_id)
    end = store.events(run_id)[-1]
    assert isinstance(end, RunFailed) and end.status == "stopped" and hub.poll(run_id).status == "stopped"
    again = hub_of({"judge": [YES], "query": ["Bea Cole"], "answer": ["Delft"]}, store)
    await again.resume(run_id)
    await again.wait(run_id)
    events = store.events(run_id)
    assert isinstance(events[-1], RunFinished) and [e.seq for e in events] == list(range(len(events)))


async def test_stopping_twice_and_closing_meanwhile_keeps_the_end() -> None:
    class Slow(MemoryStore):
        def append(self, run_id: str, event: StoredEvent) -> None:
            if isinstance(event, RunFailed):
                time.sleep(0.2)
            super().append(run_id, event)

    store = Slow()
    hub = hub_of(SLOW, store)
    run_id = await hub.start(ask())
    await until_event(hub, run_id, "state_saved")
    await asyncio.gather(hub.stop(run_id), *(_soon(hub.stop(run_id)) for _ in range(2)), _soon(hub.close()))
    end = store.events(run_id)[-1]
    assert isinstance(end, RunFailed) and end.status == "stopped" and hub.poll(run_id).status == "stopped"


async def _soon(work: Awaitable[None]) -> None:
    await asyncio.sleep(0.05)
    await work


async def test_closing_marks_runs_as_interrupted() -> None:
    store = MemoryStore()
    hub = hub_of(SLOW, store)
    run_id = await hub.start(ask())
    await until_event(hub, run_id, "state_saved")
    await hub.close()
    assert store.run(run_id).status == "interrupted"


@pytest.mark.parametrize("act", ["stop", "close"])
async def test_a_run_that_ends_before_its_first_step_is_stored_so(act: str) -> None:
    store = MemoryStore()
    hub = hub_of(SLOW, store)
    run_id = await hub.start(ask())  # its task is made and has not run yet
    await (hub.stop(run_id) if act == "stop" else hub.close())
    status = "stopped" if act == "stop" else "interrupted"
    assert store.run(run_id).status == hub.poll(run_id).status == status and not hub.running()


@pytest.mark.parametrize("act", ["stop", "close"])
async def test_a_stop_that_comes_as_the_end_is_shown_changes_nothing(act: str) -> None:
    store = MemoryStore()
    hub = hub_of(QUICK, store)
    run_id = await hub.start(ask())
    while hub.poll(run_id).status != "finished":
        await asyncio.sleep(0)  # the run's task has not seen yet that its end is stored
    await (hub.stop(run_id) if act == "stop" else hub.close())
    assert (hub.poll(run_id).status, hub.poll(run_id).fault) == ("finished", "")


async def test_a_finished_run_cannot_be_continued() -> None:
    hub = hub_of(QUICK)
    run_id = await hub.start(ask())
    await hub.wait(run_id)
    with pytest.raises(InputError, match="is finished"):
        await hub.resume(run_id)
    with pytest.raises(InputError, match="does not exist"):
        await hub.resume("nobody")


async def test_runs_wait_in_line() -> None:
    hub = hub_of(SLOW, max_running=1)
    first, second = await hub.start(ask()), await hub.start(ask())
    await until_event(hub, first, "state_saved")
    assert (hub.poll(second).status, hub.poll(second).waiting) == ("queued", 0)
    await hub.stop(second)
    assert hub.poll(second).status == "stopped"
    await hub.stop(first)


async def test_live_text_is_shown_and_not_stored() -> None:
    store = MemoryStore()
    hub = hub_of({"judge": [NO, YES], "query": [{"text": "Bea Cole born", "error": None}], "answer": ["Delft"]}, store)
    run_id = await hub.start(ask())
    await hub.wait(run_id)
    assert all(e.type != "text_delta" for e in store.events(run_id)) and hub.poll(run_id).live is None


@pytest.mark.parametrize(("question", "words"), [("  \n ", "empty"), ("x" * 20_000, "20,000 characters")])
async def test_questions_that_cannot_be_asked(question: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        await hub_of(QUICK).start(ask(question))


async def test_other_scripts_of_the_world_are_fine() -> None:
    hub = hub_of(QUICK)
    run_id = await hub.start(ask("Où est né le réalisateur d'Alpha ? 监督在哪里出生？"))
    await hub.wait(run_id)
    assert hub.poll(run_id).status == "finished"


async def test_a_fault_of_ours_ends_the_run_visibly() -> None:
    async def prepare(request: RunRequest) -> Prepared:
        raise KeyError("boom")

    hub = RunHub(prepare, MemoryStore(), RunSettings())
    run_id = await hub.start(ask())
    await hub.wait(run_id)
    assert hub.poll(run_id).status == "failed" and hub.poll(run_id).events[-1].error == "KeyError"


async def test_the_time_limit_ends_a_run() -> None:
    hub = hub_of(SLOW, time_limit_s=0.2)
    run_id = await hub.start(ask())
    await hub.wait(run_id)
    assert "time limit" in hub.poll(run_id).events[-1].message
