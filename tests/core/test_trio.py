"""TRIO against scripts: order of steps, stop rules, odd output, what each call sees."""

from __future__ import annotations

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.events import Answered, LLMCalled, Retrieved, RunFailed, RunFinished, StateSaved, SubQueries, Verdict
from trio_core.values import Gold

YES = {"text": "Sufficient Information", "p_sufficient": 0.9}
NO = {"text": "Insufficient Information", "p_sufficient": 0.2}


async def test_stops_when_the_judge_is_content() -> None:
    script = {"judge": [NO, YES], "query": ["Bea Cole birthplace"], "answer": ["Delft"]}
    events = await run_method(method_of("trio", script), gold=Gold(answers=("Delft",)))
    assert [e.type for e in events] == [
        "run_started", "round_started", "sub_queries", "retrieved", "llm_called", "verdict", "state_saved",
        "round_started", "text_delta", "text_delta", "text_delta", "llm_called", "sub_queries", "retrieved", "llm_called", "verdict", "state_saved",
        "text_delta", "llm_called", "answered", "run_finished",
    ]
    assert events[-1].reason == "judge" and (events[-1].totals.rounds, events[-1].totals.calls, events[-1].totals.retrievals) == (2, 4, 2)
    assert of(events, Answered)[0].scores["em"] == 1


async def test_numbers_have_no_gap_and_time_runs_forward() -> None:
    events = await run_method(method_of("trio", {"judge": [YES], "answer": ["Delft"]}))
    stored = [e for e in events if e.type != "text_delta"]
    assert [e.seq for e in stored] == list(range(len(stored)))
    assert all(a.t <= b.t for a, b in zip(stored, stored[1:], strict=False))


async def test_extension_limit() -> None:
    script = {"judge": [NO] * 4, "query": ["a b", "c d", "e f"], "answer": ["Delft"]}
    method = method_of("trio", script)
    events = await run_method(method)
    assert events[-1].reason == "round_limit"
    assert (events[-1].totals.calls, events[-1].totals.retrievals) == (8, 4)
    assert method.max_calls() == (11, 4), "3 queries, each retried once, 4 verdicts, 1 answer"


async def test_first_verdict_only_after_an_extension_when_asked() -> None:
    script = {"judge": [YES], "query": ["Bea Cole"], "answer": ["Delft"]}
    events = await run_method(method_of("trio", script, {"judge_initial": False}))
    assert [v.round for v in of(events, Verdict)] == [2]


async def test_a_repeated_query_is_retried_once_then_the_run_answers() -> None:
    question = "Where was the director of Alpha born?"
    script = {"judge": [NO], "query": [question, question.upper()], "answer": ["Delft"]}
    events = await run_method(method_of("trio", script), question)
    assert events[-1].reason == "repeat"
    assert of(events, SubQueries)[-1].queries[0].repeated and len(of(events, Retrieved)) == 1
    second = [c for c in of(events, LLMCalled) if c.role == "query"][1]
    assert "already used" in second.messages[-1].content


async def test_no_query_at_all_goes_to_the_answer() -> None:
    events = await run_method(method_of("trio", {"judge": [NO], "query": ["", "<think>hm"], "answer": ["Delft"]}))
    assert events[-1].reason == "no_query" and of(events, Answered)[0].answer == "Delft"
    assert [c.parse for c in of(events, LLMCalled) if c.role == "query"] == ["failed", "failed"]


async def test_an_unparsed_verdict_goes_on_and_is_shown_as_such() -> None:
    script = {"judge": ["Maybe", {"text": "Sufficient Information"}], "query": ["Bea Cole"], "answer": ["Delft"]}
    verdicts = of(await run_method(method_of("trio", script)), Verdict)
    assert [v.label for v in verdicts] == ["unparsed", "sufficient"] and verdicts[0].p_sufficient is None


async def test_the_threshold_of_the_live_judge_decides() -> None:
    script = {"judge": [{"text": "Insufficient Information", "p_sufficient": 0.3}], "answer": ["Delft"]}
    method = method_of("trio", script)
    method.tools.engine.judge = method.tools.engine.judge.model_copy(update={"threshold": 0.25, "name": "judge-1"})
    verdict = of(await run_method(method), Verdict)[0]
    assert (verdict.label, verdict.judged_by, verdict.threshold) == ("sufficient", "judge-1", 0.25)


async def test_verdict_words_inside_a_passage_mean_nothing() -> None:
    retriever = ListRetriever({"Where was the director of Alpha born?": ["p3"]})
    script = {"judge": [{"text": "Insufficient Information"}, YES], "query": ["Bea Cole"], "answer": ["Delft"]}
    assert of(await run_method(method_of("trio", script, retriever=retriever)), Verdict)[0].label == "insufficient"


async def test_every_agent_sees_the_whole_pool() -> None:
    script = {"judge": [NO, YES], "query": ["Bea Cole birthplace"], "answer": ["Delft"]}
    calls = {c.role: c for c in of(await run_method(method_of("trio", script)), LLMCalled)}
    assert "Query 2: Bea Cole birthplace" in calls["answer"].messages[-1].content
    assert "Query 2: Bea Cole birthplace" in calls["judge"].messages[-1].content
    assert all(not c.hidden for c in calls.values())


async def test_an_empty_answer_says_why() -> None:
    answered = of(await run_method(method_of("trio", {"judge": [YES], "answer": [{"text": "", "finish_reason": "length"}]})), Answered)[0]
    assert answered.answer == "" and "token limit" in answered.note


async def test_a_small_context_drops_passages_and_says_which() -> None:
    script = {"judge": [YES], "answer": ["Delft"]}
    events = await run_method(method_of("trio", script, context=190))
    judge = [c for c in of(events, LLMCalled) if c.role == "judge"][0]
    assert judge.dropped and isinstance(events[-1], RunFinished)


async def test_a_dying_server_keeps_what_was_written() -> None:
    script = {"judge": [NO], "query": [{"text": "Bea", "error": "EngineBroken", "message": "connection lost"}]}
    end = (await run_method(method_of("trio", script)))[-1]
    assert isinstance(end, RunFailed)
    assert (end.status, end.partial, end.where) == ("interrupted", "Bea", "round 2, query")


async def test_a_failing_judge_is_named_as_the_place() -> None:
    script = {"judge": [{"text": "", "error": "EngineTimeout", "message": "total limit ran out"}]}
    end = (await run_method(method_of("trio", script)))[-1]
    assert (end.status, end.where, end.acts) == ("failed", "round 1, judge", "server")


async def test_continues_from_the_last_stored_state() -> None:
    script = {"judge": [NO], "query": [{"text": "Bea", "error": "EngineBroken"}]}
    first = [e for e in await run_method(method_of("trio", script)) if e.type != "text_delta"]
    rest = await run_method(method_of("trio", {"judge": [YES], "query": ["Bea Cole"], "answer": ["Delft"]}), earlier=first)
    stored = [e for e in first + rest if e.type != "text_delta"]
    assert [e.seq for e in stored] == list(range(len(stored)))
    assert rest[0].resumed_from_round == 1 and rest[-1].reason == "judge"
    assert rest[-1].totals.calls == 4 and len(of(rest, StateSaved)) == 1


@pytest.mark.parametrize("name", ["trio", "maps", "no_retrieval"])
async def test_a_stored_state_reads_back(name: str) -> None:
    script = {"judge": [YES] * 9, "plan": ["a -> b c", "ENOUGH"], "refine": ["Knowledge:\n- x\nSummary: y"], "answer": ["Delft"]}
    method = method_of(name, script)
    for saved in of(await run_method(method), StateSaved):
        assert method.load(saved.state).model_dump(mode="json") == saved.state
