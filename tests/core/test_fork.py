"""Forking: the copied beginning, the person's verdict, what comes after it, and what cannot be forked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.helpers import method_of, of, run_method
from tests.core.test_maps import SCRIPT as MAPS
from trio_core.engines.scripted import ScriptedEngine
from trio_core.errors import InputError
from trio_core.events import (
    Corrected,
    LLMCalled,
    RunFinished,
    RunStarted,
    StateSaved,
    Verdict,
    event_from_json,
    event_to_json,
)
from trio_core.evidence import SampleSettings
from trio_core.fork import fork_request, forked_events
from trio_core.hub import Prepared, RunHub
from trio_core.memory_store import MemoryStore
from trio_core.runs import RunRequest
from trio_core.settings import RunSettings, load_settings
from trio_core.trace import trace_of
from trio_core.values import ForkPoint, Gold
from trio_core.workbench import Workbench

YES = {"text": "Sufficient Information", "p_sufficient": 0.9}
NO = {"text": "Insufficient Information", "p_sufficient": 0.1}
TWO_ROUNDS = {"judge": [NO, YES], "query": ["Bea Cole born"], "answer": ["Delft"]}


async def stored(method: str = "trio", script: Any = None, settings: dict[str, Any] | None = None) -> list[Any]:
    return [e for e in await run_method(method_of(method, script or TWO_ROUNDS, settings)) if e.type != "text_delta"]


async def forked(
    original: list[Any], point: ForkPoint, script: Any, method: str = "trio", settings: dict[str, Any] | None = None
) -> list[Any]:
    made = method_of(method, script, settings)
    first = forked_events(made, RunStarted(question=original[0].question, method=method), original, point)
    return first + [e for e in await run_method(made, earlier=first) if e.type != "text_delta"]


def at(round_: int, verdict: str, run_id: str = "a") -> ForkPoint:
    return ForkPoint(run_id=run_id, round=round_, verdict=verdict, by="ann")


async def test_stop_here_answers_from_the_copied_state() -> None:
    original = await stored()
    events = await forked(original, at(1, "sufficient"), {"answer": ["Leiden"]})
    trace = trace_of(events)
    assert [e.seq for e in events] == list(range(len(events))) and all(a.t <= b.t for a, b in zip(events, events[1:], strict=False))
    assert (len(trace.rounds), trace.answer.answer, trace.end.reason, trace.resumed) == (1, "Leiden", "fork", 0)
    assert trace.started.forked_from == at(1, "sufficient") and trace.rounds[0].corrected.label == "sufficient"
    assert of(events, Verdict) == [of(original, Verdict)[0].model_copy(update={"seq": of(events, Verdict)[0].seq})]
    assert trace.end.totals.calls == 2  # the copied verdict and the new answer


async def test_going_on_asks_for_the_next_query() -> None:
    events = await forked(await stored(), at(2, "insufficient"), {"query": ["Delft city"], "judge": [YES], "answer": ["Delft"]})
    trace = trace_of(events)
    assert [r.number for r in trace.rounds] == [1, 2, 3] and trace.end.reason == "judge" and trace.end.totals.rounds == 3
    assert [q.text for r in trace.rounds for q in r.sub_queries.queries][1:] == ["Bea Cole born", "Delft city"]


async def test_a_fork_can_be_forked() -> None:
    first = await forked(await stored(), at(1, "sufficient"), {"answer": ["Leiden"]})
    again = await forked(first, at(1, "insufficient", "b"), {"query": ["Delft city"], "judge": [YES], "answer": ["Delft"]})
    assert [c.label for c in of(again, Corrected)] == ["sufficient", "insufficient"]
    assert trace_of(again).rounds[-1].number == 2


@pytest.mark.parametrize(("point", "settings", "words"), [
    (at(3, "sufficient"), {}, "no complete round 3.*complete rounds: 1, 2"),
    (at(2, "insufficient"), {"max_extensions": 1}, "round 2 is the last that max_extensions = 1 allows"),
])
async def test_what_cannot_be_forked(point: ForkPoint, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        await forked(await stored(), point, {}, settings=settings)


async def test_a_search_that_ended_without_a_query_cannot_go_on() -> None:
    original = await stored(script={"judge": [NO], "query": ["", ""], "answer": ["x"]})
    with pytest.raises(InputError, match="round 2 found no new query"):
        await forked(original, at(2, "insufficient"), {})


async def test_maps_goes_on_after_enough_and_may_not_say_so_again() -> None:
    original = await stored("maps", MAPS)
    script = {"plan": ["City -> Delft region", "ENOUGH"], "refine": [MAPS["refine"][1]], "judge": [NO], "answer": ["Delft"]}
    events = await forked(original, at(3, "insufficient"), script, "maps")
    plans = [c for c in of(events, LLMCalled) if c.role == "plan"]
    assert "ENOUGH" in plans[2].messages[-1].content and "ENOUGH" not in plans[3].messages[-1].content
    assert trace_of(events).end.reason == "enough"
    assert [s.state["insist"] for s in of(events, StateSaved)] == [False, False, True, False, False]


async def test_maps_stops_where_it_is_told_to() -> None:
    events = await forked(await stored("maps", MAPS), at(1, "sufficient"), {"answer": ["Delft"]}, "maps")
    assert trace_of(events).end.reason == "fork" and "Bea Cole was born" not in of(events, LLMCalled)[-1].messages[-1].content


async def test_the_hub_stores_the_whole_beginning_and_a_stopped_fork_goes_on() -> None:
    store = MemoryStore()
    scripts = iter([TWO_ROUNDS, {"query": [{"text": "x", "delay_s": 30}]}, {"query": ["Delft city"], "judge": [YES], "answer": ["Delft"]}])

    async def prepare(request: RunRequest) -> Prepared:
        started = RunStarted(question=request.question, method=request.method, gold=request.gold)
        return Prepared(method_of(request.method, next(scripts)), started)

    hub = RunHub(prepare, store, RunSettings())
    first = await hub.start(RunRequest(question="Where was the director of Alpha born?", method="trio", gold=Gold(answers=("Delft",))))
    await hub.wait(first)
    request = fork_request(store.run(first).request, store.events(first), at(2, "insufficient", first), {})
    second = await hub.start(request)
    while not any(isinstance(e, Corrected) for e in hub.poll(second).events):
        await asyncio.sleep(0.005)
    await hub.stop(second)
    await hub.resume(second)
    await hub.wait(second)
    events = store.events(second)
    assert [e.seq for e in events] == list(range(len(events))) and isinstance(events[-1], RunFinished)
    assert trace_of(events).answer.scores["em"] == 1.0 and len(of(events, Corrected)) == 1


def test_the_workbench_forks_a_stored_run(tmp_path: Path) -> None:
    bench = Workbench(load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}"]), MemoryStore())
    bench.engine = ScriptedEngine(lambda call: YES if call.role == "judge" else "Ada Lovelace")
    try:
        bench.bring_up(wait=True)
        first = bench.start_run(RunRequest(question="Who wrote the first program?", method="trio", settings={"top_k": 2}))
        bench.wait_run(first, 20)
        second = bench.fork_run(first, 1, "insufficient", by="ann", settings={"max_extensions": 1})
        bench.wait_run(second, 20)
        with pytest.raises(InputError, match="does not exist"):
            bench.fork_run("nobody", 1, "sufficient")
        with pytest.raises(InputError, match="no complete round 9"):
            bench.fork_run(first, 9, "sufficient")
        started = bench.poll(second).events[0]
        assert bench.poll(second).status == "finished" and trace_of(bench.poll(second).events).rounds[1:]
        assert (started.settings["top_k"], started.settings["max_extensions"], started.forked_from.run_id) == (2, 1, first)
        task = bench.sample_evidence(trace_of(bench.poll(first).events).rounds[0].verdict.item, SampleSettings(samples=3), ["Ada Lovelace"])
        report = task.wait(20)
        assert (report.n, report.right, report.vote, task.error) == (3, 3, "sufficient", "")
    finally:
        bench.close()


def test_events_without_a_fork_keep_the_bytes_of_version_1() -> None:
    old = json.dumps({"seq": 0, "t": 0.0, "type": "run_started", "schema_version": 1, "question": "q", "method": "trio", "settings": {},
                      "models": {}, "index": {}, "prompt_version": "", "gold": None, "resumed_from_round": None}, separators=(",", ":"))
    event = event_from_json(old)
    assert event.forked_from is None and event_to_json(event) == old
    assert "fork" not in RunRequest(question="q", method="trio").model_dump_json()
