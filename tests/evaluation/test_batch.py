"""The batch: every result a stored run, nothing asked twice, failures kept, few at a time, nothing hoarded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.evaluation.helpers import PLAIN, TRIO, Bench, questions, replies
from trio_core.errors import InputError, StoreError
from trio_core.evaluation import batch as module
from trio_core.evaluation.batch import GivenUp
from trio_core.evaluation.values import entrant
from trio_core.events import RunFinished, StoredEvent
from trio_core.memory_store import MemoryStore
from trio_core.values import ChatCall


def asked(store: MemoryStore) -> list[tuple[str, str, int]]:
    """(label, question, repeat) of all stored runs."""
    marks = [(i.request.evaluation, i.question_id) for i in store.runs_of_group("eval-1")]
    return sorted((mark.label, question, mark.repeat) for mark, question in marks if mark)


async def test_every_row_is_a_stored_run() -> None:
    bench = Bench()
    progress = await bench.batch(3, entrants=(TRIO, PLAIN), repeats=2, seed=10).work()
    assert (progress.done, progress.total, progress.failed, progress.fresh, progress.running) == (12, 12, 0, 12, 0)
    assert len(bench.rows) == len({r.key for r in bench.rows}) == len(asked(bench.store)) == 12
    for row in bench.rows:
        info = bench.store.run(row.run_id)
        assert info is not None and (info.dataset, info.question_id, info.origin, info.request.gold.passage_ids) == ("d", row.question_id, "batch", ("p1", "p2"))
        assert isinstance(bench.store.events(row.run_id)[-1], RunFinished) and row.answer == "Delft" and row.scores["em"] == 1
        assert row.seed == info.request.evaluation.seed == 10 + row.repeat
    assert {r.recall for r in bench.rows if r.label == "trio"} == {(1.0,)} and {r.recall for r in bench.rows if r.label == "no_retrieval"} == {()}


async def test_resume_repeats_nothing_and_makes_lost_rows_again() -> None:
    first = Bench()
    await first.batch(4).work()
    second = Bench(store=first.store)
    have = frozenset(r.run_id for r in first.rows[:3])
    progress = await second.batch(6, have=have).work()
    assert (progress.done, progress.fresh, second.begun) == (6, 2, 2)
    assert {r.question_id for r in second.rows} == {first.rows[3].question_id, "q4", "q5"} and len(asked(first.store)) == 6
    assert next(r for r in second.rows if r.run_id == first.rows[3].run_id) == first.rows[3]


async def test_a_stopped_batch_goes_on_in_the_middle_of_a_run() -> None:
    hold = True

    def slow(call: ChatCall) -> dict[str, Any]:
        if call.role == "judge" and hold:
            return {"text": "Insufficient Information", "p_sufficient": 0.1}
        return {"text": f"query {len(call.messages[-1].content)}", "delay_s": 60 if hold else 0} if call.role == "query" else replies(call)

    first = Bench(slow)
    work = first.batch(5, concurrency=2)
    task = asyncio.create_task(work.work())
    while sum("state_saved" in [e.type for e in first.store.events(i.id)] for i in first.store.runs_of_group("eval-1")) < 2:
        await asyncio.sleep(0.005)
    await work.stop()
    progress = await task
    assert (progress.done, first.rows) == (0, [])
    assert [i.status for i in first.store.runs_of_group("eval-1")] == ["stopped"] * 2
    hold = False
    second = Bench(slow, first.store)
    await second.batch(5, concurrency=2).work()
    assert len(second.rows) == 5 and all(r.finished for r in second.rows) and asked(first.store) == [("trio", f"q{n}", 0) for n in range(5)]
    continued = [r for r in second.rows if sum(e.type == "run_started" for e in first.store.events(r.run_id)) == 2]
    assert len(continued) == 2 and {r.rounds for r in continued} == {2}


async def test_a_run_of_a_dead_process_is_waited_for_then_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ELSEWHERE_S", 0.01)
    store = MemoryStore()
    dead = Bench(store=store)
    job = next(dead.batch(1).plan.jobs())
    run_id = store.create_run(await _request(dead, job))
    store.set_status(run_id, "running")
    alive = Bench(store=store)
    task = asyncio.create_task(alive.batch(1).work())
    await asyncio.sleep(0.05)
    assert not task.done() and alive.begun == 0
    store.set_status(run_id, "interrupted")  # what the sweep does
    await task
    assert [r.run_id for r in alive.rows] == [run_id] and alive.rows[0].finished and len(asked(store)) == 1


async def _request(bench: Bench, job: Any) -> Any:
    """The request that a batch stores for a job."""
    seen: list[Any] = []

    class Stop(Exception):
        pass

    async def start(request: Any) -> str:
        seen.append(request)
        raise Stop

    batch = bench.batch(1)
    batch._hub = type("Hub", (), {"start": staticmethod(start)})()
    with pytest.raises(Stop):
        await batch._begin(job, None)
    return seen[0]


async def test_failures_are_rows_and_only_retried_when_asked() -> None:
    broken = True

    def rule(call: ChatCall) -> dict[str, Any]:
        if broken and "number 1 " in call.messages[-1].content and call.role == "answer":
            return {"error": "EngineTimeout", "message": "too slow"}
        return replies(call)

    bench = Bench(rule)
    progress = await bench.batch(3).work()
    [failed] = [r for r in bench.rows if not r.finished]
    assert (progress.failed, failed.question_id, failed.reason, failed.scores["em"]) == (1, "q1", "EngineTimeout: too slow", 0.0)
    broken = False
    assert (await bench.batch(3).work()).failed == 1 and bench.begun == 3
    again = await bench.batch(3, retry_failed=True).work()
    assert (again.failed, bench.begun, len(asked(bench.store))) == (0, 4, 3)
    assert [r.finished for r in bench.rows if r.run_id == failed.run_id] == [False, False, True]


async def test_a_question_that_cannot_be_asked_is_a_row_too() -> None:
    bench = Bench()
    work = bench.batch(2)
    long = questions(2)
    long[0] = long[0].model_copy(update={"question": "x" * 5000})
    work.plan = work.plan._replace(questions=long)
    await work.work()
    assert [(r.finished, r.run_id == "") for r in sorted(bench.rows, key=lambda r: r.question_id)] == [(False, True), (True, False)]


async def test_gives_up_when_the_server_is_gone() -> None:
    bench = Bench(lambda call: {"error": "EngineUnreachable", "message": "nobody answers"})
    with pytest.raises(GivenUp, match="nobody answers"):
        await bench.batch(200, concurrency=1).work()
    assert len(bench.rows) == module.GIVE_UP_AFTER


async def test_a_store_that_fails_ends_the_batch() -> None:
    class Full(MemoryStore):
        def append(self, run_id: str, event: StoredEvent) -> None:
            raise StoreError("disk full")

    with pytest.raises(StoreError, match="disk full"):
        await Bench(store=Full()).batch(50, concurrency=2).work()


async def test_as_many_at_once_as_asked_and_nothing_is_hoarded() -> None:
    most = 0
    bench = Bench(lambda call: replies(call) | {"delay_s": 0.01})
    work = bench.batch(40, concurrency=8)

    def look(progress: Any) -> None:
        nonlocal most
        most = max(most, progress.running)
        assert len(bench.hub._runs) <= 16  # eight that run, eight whose ends are being stored

    work._on_progress = look
    await work.work()
    assert most == 8 and bench.hub._runs == {} and work._known == {}


def test_entrants() -> None:
    made = entrant(" trio:max_extensions=1: judge_initial=false")
    assert (made.method, made.settings, made.label) == ("trio", {"max_extensions": 1, "judge_initial": False}, "trio:max_extensions=1:judge_initial=false")
    assert entrant("maps").label == "maps"
    for wrong in ("", "trio:rounds", ":a=1"):
        with pytest.raises(InputError):
            entrant(wrong)
