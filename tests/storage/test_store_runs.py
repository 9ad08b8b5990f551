"""Runs: what goes in comes out, ends are complete, nothing is stored twice."""

from __future__ import annotations

import pytest
from store_helpers import Clock, judge_item, record, request, run_events, verdict

from storage import Store
from trio_core.errors import StoreError
from trio_core.events import RoundStarted, RunFailed, RunStarted, TextDelta
from trio_core.runs import RunStore
from trio_core.values import Gold


def as_run_store(store: Store) -> RunStore:
    """The type checker sees here that the store is what the hub asks for."""
    return store


def test_events_come_back_as_they_went_in(store: Store) -> None:
    run_id = record(as_run_store(store))
    assert list(store.events(run_id)) == run_events()
    assert [event.seq for event in store.events(run_id, after=1)] == [2, 3]


def test_end_event_sets_status_answer_scores_and_totals(store: Store) -> None:
    run_id = store.create_run(request(gold=Gold(answers=("Ann",)), dataset="demo", question_id="q1", group="g"))
    *before, end = run_events()
    for event in before:
        store.append(run_id, event)
    info = store.run(run_id)
    assert info and (info.status, info.answer, info.ended) == ("running", None, None)
    store.set_status(run_id, "running")
    store.append(run_id, end)
    info = store.run(run_id)
    assert info and (info.status, info.answer, info.em, info.f1, info.reason) == ("finished", "Ann", 1.0, 0.8, "judge")
    assert (info.rounds, info.calls, info.seconds, info.request.question_id) == (1, 3, 2.0, "q1")
    assert info.ended is not None and info.ended.utcoffset() is not None


def test_same_event_twice_is_refused(store: Store) -> None:
    run_id = store.create_run(request())
    store.append(run_id, run_events()[0])
    with pytest.raises(StoreError, match="event 0 is stored already"):
        store.append(run_id, run_events()[0])
    assert len(store.events(run_id)) == 1


def test_live_text_unknown_run_and_ended_run_are_refused(store: Store) -> None:
    run_id = record(store)
    with pytest.raises(StoreError, match="has ended"):
        store.append(run_id, RoundStarted(seq=9, round=2))
    with pytest.raises(StoreError, match="does not exist"):
        store.append("nope", run_events()[0])
    with pytest.raises(StoreError, match="live only"):
        store.append(store.create_run(request()), TextDelta(round=1, role="judge", text="x"))
    with pytest.raises(StoreError, match="end event"):
        store.set_status(store.create_run(request()), "finished")


def test_failed_verdict_leaves_no_half_event(store: Store) -> None:
    run_id = store.create_run(request())
    with pytest.raises(StoreError, match="cannot be stored"):
        store.append(run_id, verdict(0, judge_item("broken \ud800 text")))
    assert store.events(run_id) == [] and store.label_counts().items == 0
    store.append(run_id, run_events()[0])


def test_same_content_in_two_runs_is_one_item_with_two_sources(store: Store) -> None:
    first, second = record(store), record(store)
    found = store.item_by_hash(judge_item().content_hash)
    assert found and found.item == judge_item() and store.item(found.id) == found
    assert [source.run_id for source in found.sources] == [first, second]
    assert [(v.judge, v.label, v.p_sufficient, v.deciding) for v in store.verdicts_for(found.id)] == [
        ("zero-shot", "insufficient", 0.3, True)] * 2


def test_sweep_ends_silent_runs_and_says_so(store: Store, clock: Clock) -> None:
    silent, alive, done = store.create_run(request()), store.create_run(request()), record(store)
    store.append(silent, RunStarted(seq=0, question="q", method="trio"))
    store.append(silent, RoundStarted(seq=1, t=3.0, round=1))
    clock.forward(60)
    store.heartbeat([alive])
    assert store.sweep(30) == [silent]
    end = store.events(silent)[-1]
    assert isinstance(end, RunFailed) and (end.seq, end.status, end.error, end.totals.rounds) == (2, "interrupted", "Interrupted", 1)
    assert "continue" in end.message
    assert [store.run(r).status for r in (silent, alive, done)] == ["interrupted", "queued", "finished"]
    assert store.sweep(30) == []


def test_reopened_run_goes_on_after_its_old_end(store: Store, clock: Clock) -> None:
    run_id = store.create_run(request())
    clock.forward(60)
    store.sweep(30)
    store.reopen_run(run_id)
    assert store.run(run_id).status == "queued"
    for event in run_events():
        store.append(run_id, event.model_copy(update={"seq": event.seq + 1}))
    assert [event.type for event in store.events(run_id)][::4] == ["run_failed", "run_finished"]
    assert store.run(run_id).answer == "Ann"
    with pytest.raises(StoreError, match="is finished"):
        store.reopen_run(run_id)


def test_list_filters_searches_and_pages(store: Store, clock: Clock) -> None:
    for i, question in enumerate(("Wer schrieb ÄRGER?", "100% sure_thing?", "Third?")):
        clock.forward(1)
        record(store, question, answer=f"answer{i}")
    clock.forward(1)
    other = store.create_run(request("Other", method="maps", dataset="d", origin="batch", group="g"))
    assert [r.question for r in store.list_runs()[0]] == ["Other", "Third?", "100% sure_thing?", "Wer schrieb ÄRGER?"]
    assert [r.question for r in store.list_runs(search="ärger")[0]] == ["Wer schrieb ÄRGER?"]
    assert [r.question for r in store.list_runs(search="0% sure_")[0]] == ["100% sure_thing?"]
    assert store.list_runs(search="%")[1] == 1 and store.list_runs(search="ANSWER2")[1] == 1
    page, total = store.list_runs(status="finished", limit=1, offset=1)
    assert ([r.question for r in page], total) == (["100% sure_thing?"], 3)
    assert [r.id for r in store.list_runs(method="maps", dataset="d", origin="batch")[0]] == [other]
    assert [r.id for r in store.runs_of_group("g")] == [other] and store.runs_of_group("") == []


def test_recorded_run_is_imported_once(store: Store) -> None:
    first = store.import_run(request(), run_events())
    assert store.import_run(request(), run_events()) == first
    assert store.import_run(request("Another?"), run_events("Another?")) != first
    info = store.run(first)
    assert info and (info.origin, info.status, info.answer) == ("recorded", "finished", "Ann")
    with pytest.raises(StoreError, match="end event"):
        store.import_run(request(), run_events()[:-1])
