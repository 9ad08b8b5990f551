"""DRAG and MA-RAG against scripts: who sees what, actions and steps, odd output."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.errors import InputError
from trio_core.events import Answered, Knowledge, LLMCalled, Retrieved, StateSaved, SubQueries
from trio_core.methods.drag import parse_request
from trio_core.methods.ma_rag import parse_note, parse_plan_steps, parse_solution, parse_task
from trio_core.methods.records import RoundRecord
from trio_core.trace import trace_of
from trio_core.values import Completion

Q = "Where was the director of Alpha born?"
DRAG: dict[str, Any] = {
    "proponent": ["The first passage names her.", "All is there."],
    "opponent": ["Her birthplace lacks.\nQuery Expansion: Bea Cole birthplace", "Nothing."],
    "moderator": ["Opponent", "Proponent"],
    "answer_proponent": ["Delft\nDoc 2 says it."] * 3,
    "answer_opponent": ["Oslo\nI recall it."] * 3,
    "answer": ["Oslo", "Oslo", "Delft"],
}
MA: dict[str, Any] = {
    "plan": ["1. Find out who directed Alpha.\n2. Find out where that person was born."],
    "define": ["Type: look up\nTask: Who directed Alpha?", "Type: look up\nTask: Where was Bea Cole born?"],
    "extract": ["Bea Cole directed Alpha.", "none", "Bea Cole was born in Delft.", "none"],
    "solve": ["Answer: Bea Cole\nSuccess: yes", "Answer: Delft\nSuccess: yes"],
    "answer": ["Delft"],
}


def sent(call: LLMCalled) -> str:
    return "\n".join(m.content for m in call.messages)


async def drag(settings: dict[str, Any] | None = None, **changes: Any) -> list[Any]:
    return await run_method(method_of("drag", DRAG | changes, settings))


async def ma_rag(settings: dict[str, Any] | None = None, **changes: Any) -> list[Any]:
    return await run_method(method_of("ma_rag", MA | changes, {"preset": "small", **(settings or {})}))


async def test_drag_debates_then_answers() -> None:
    events = await drag()
    assert [q.text for e in of(events, SubQueries) for q in e.queries] == [Q, "Bea Cole birthplace"] and events[-1].reason == "proponent"
    assert (events[-1].totals.calls, of(events, Answered)[0].answer) == (6 + 9, "Delft")
    trace = trace_of(e for e in events if e.type != "text_delta")
    assert [len(r.calls) for r in trace.rounds] == [3, 3] and len(trace.answer_calls) == 9


async def test_drag_hides_each_side_from_the_other_and_the_passages_from_the_opponent() -> None:
    calls = of(await drag(), LLMCalled)
    assert "names her" not in sent(calls[1]) and calls[1].hidden[0].what == "arguments of the other side"
    assert "names her" in sent(calls[2]) and "birthplace lacks" in sent(calls[2])
    assert "names her" not in sent(calls[3]), "no history of the debate"
    first, second = [c for c in calls if c.role == "answer_opponent"][:2]
    assert "born in Delft" not in sent(first) + sent(second).replace("Doc 2 says it.", "") and first.hidden[0].what == "passages"
    assert (
        "Doc 2 says it." in sent(second)
        and "Doc 2 says it." not in sent(first)
        and [m.role for m in second.messages][-2:] == ["assistant", "user"]
    )
    assert "I recall it." in sent([c for c in calls if c.role == "answer_proponent"][1])


async def test_drag_replaces_the_query_that_is_closest() -> None:
    events = await drag(opponent=["Query Optimization: where was the director of Alpha? -> Bea Cole birthplace (she made it)", "x"])
    assert [e["query"] for e in of(events, StateSaved)[-1].state["pool"]] == ["Bea Cole birthplace"] and Q in of(events, SubQueries)[
        1
    ].queries[0].note


@pytest.mark.parametrize(
    ("opponent", "reason"),
    [("I have nothing.", "no_query"), ("", "no_query"), (f"Query Expansion: {Q}", "repeat"), ("<think>Query Expansion: x", "no_query")],
)
async def test_drag_ends_where_the_opponent_asks_nothing_new(opponent: str, reason: str) -> None:
    events = await drag(opponent=[opponent])
    assert events[-1].reason == reason and events[-1].totals.retrievals == 1 and of(events, Answered)[0].answer == "Delft"


async def test_drag_executes_the_last_request_without_a_debate() -> None:
    events = await drag({"retrieval_rounds": 1, "answer_rounds": 1}, moderator=["no idea"])
    assert events[-1].reason == "round_limit" and (events[-1].totals.calls, events[-1].totals.retrievals) == (6, 2)
    assert next(c for c in of(events, LLMCalled) if c.role == "moderator").parse == "failed"


async def test_a_person_can_overrule_the_moderator_only_where_the_opponent_asked_for_something() -> None:
    events = await drag(moderator=["Proponent"])
    method = method_of("drag", {})
    assert method.forked(method.load(of(events, StateSaved)[0].state), "insufficient").pending == "Bea Cole birthplace"
    nothing = await drag(moderator=["Proponent"], opponent=["Nothing."])
    with pytest.raises(InputError, match="left no query"):
        method.forked(method.load(of(nothing, StateSaved)[0].state), "insufficient")


@pytest.mark.parametrize(
    ("text", "query", "replaces", "status"),
    [
        ("Query Expansion: Bea Cole birthplace", "Bea Cole birthplace", "", "ok"),
        ('**Query Expansion:** "Bea Cole"', "Bea Cole", "", "ok"),
        ("Query Optimisation: alpha maker => Alpha director", "Alpha director", "alpha made by", "ok"),
        ("Query Optimization: Alpha director", "Alpha director", "", "repaired"),
        ("Query Expansion: Delft because it lacks", "Delft", "", "ok"),
        ("It lacks a place.\n\nQuery: Bea Cole birthplace", "Bea Cole birthplace", "", "repaired"),  # seen with the embedded model
        ("Query Expansion: ", "", "", "failed"),
        ("expand it", "", "", "failed"),
        ("Query Expansion: a b\nQuery Expansion: c d", "c d", "", "ok"),
    ],
)
def test_requests(text: str, query: str, replaces: str, status: str) -> None:
    pool = (RoundRecord(query=Q, round=1), RoundRecord(query="alpha made by", round=2))
    parsed = parse_request(Completion(text=text), pool)
    assert (parsed.value.query, parsed.value.replaces, parsed.status) == (query, replaces, status)


async def test_ma_rag_works_its_plan_off() -> None:
    events = await ma_rag()
    assert [c.role for c in of(events, LLMCalled)] == [
        "plan",
        "define",
        "extract",
        "extract",
        "solve",
        "define",
        "extract",
        "extract",
        "solve",
        "answer",
    ]
    assert events[-1].reason == "plan_done" and of(events, Answered)[0].answer == "Delft"
    assert of(events, SubQueries)[1].queries[0].direction == "Find out where that person was born."
    assert of(events, Knowledge)[0].notes == ("Bea Cole directed Alpha.",)


async def test_ma_rag_shows_each_call_only_its_part() -> None:
    calls = of(await ma_rag(), LLMCalled)
    by_role = {role: [c for c in calls if c.role == role] for role in {c.role for c in calls}}
    assert "directed by Bea Cole" in sent(by_role["extract"][0]) and "born in Delft" not in sent(by_role["extract"][0])
    assert (
        "Bea Cole directed Alpha." in sent(by_role["solve"][0])
        and "directed by" not in sent(by_role["solve"][0])
        and Q not in sent(by_role["solve"][0])
    )
    assert "Answer: Bea Cole" in sent(by_role["define"][1]) and "directed by" not in sent(by_role["define"][1])
    assert "Answer: Delft" in sent(by_role["answer"][0]) and "directed by" not in sent(by_role["answer"][0])
    assert (
        by_role["solve"][0].hidden[0].what == by_role["answer"][0].hidden[0].what == "passages" and by_role["extract"][0].branch == "Alpha"
    )


async def test_an_aggregate_step_does_not_search() -> None:
    events = await ma_rag(
        define=[MA["define"][0], "Type: aggregate\nTask: Bea Cole directed Alpha; name her."], aggregate=["Answer: Bea Cole"]
    )
    assert len(of(events, Retrieved)) == 1 and of(events, SubQueries)[1].queries[0].repeated
    call = next(c for c in of(events, LLMCalled) if c.role == "aggregate")
    assert "born" not in sent(call) and "Plan" not in sent(call)


async def test_a_step_that_fails_ends_ma_rag_and_a_person_may_send_it_on() -> None:
    events = await ma_rag(solve=["Answer: unknown\nSuccess: no"])
    assert events[-1].reason == "step_failed" and len(of(events, Retrieved)) == 1 and of(events, Answered)[0].answer == "Delft"
    method = method_of("ma_rag", {}, {"preset": "small"})
    state = method.load(of(events, StateSaved)[0].state)
    assert method.forked(state, "insufficient").stop == ""
    with pytest.raises(InputError, match="last step"):
        method.forked(state.model_copy(update={"plan": state.plan[:1]}), "insufficient")


async def test_ma_rag_without_a_plan_takes_the_question_as_its_only_step() -> None:
    retriever = ListRetriever()
    script = MA | {"plan": [""], "define": [""], "extract": ["none"] * 2, "solve": ["Delft"]}
    events = await run_method(method_of("ma_rag", script, {"preset": "small"}, retriever))
    assert retriever.asked == [(Q, 2)] and events[-1].reason == "plan_done"
    assert "nothing relevant was found" in sent(next(c for c in of(events, LLMCalled) if c.role == "solve"))
    assert [c.parse for c in of(events, LLMCalled)][:2] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1. Find a.\n2. Find b.", ["Find a.", "Find b."]),
        ('{"analysis": "x", "step": ["Find a.", "Find b."]}', ["Find a.", "Find b."]),
        ("Analysis: hard.\nSteps:\n- Find a.", ["Find a."]),
        ("<think>1. no</think>Find a.", ["Find a."]),
        ("1. a\n2. b\n3. c", ["a", "b"]),
        ("", []),
    ],
)
def test_plans(text: str, steps: list[str]) -> None:
    assert parse_plan_steps(Completion(text=text), 2).value == steps


@pytest.mark.parametrize(
    ("text", "task", "status"),
    [
        ("Type: aggregate\nTask: Say it.", (True, "Say it."), "ok"),
        ('{"type": "question-answering", "task": "Who?"}', (False, "Who?"), "ok"),
        ("Type: look up, or aggregate if it combines\nTask: Who?", (False, "Who?"), "ok"),  # the choice copied, as the embedded model did
        ("Who directed it?", (False, "Who directed it?"), "repaired"),
        ("", (False, "step"), "failed"),
        ("{broken", (False, "step"), "failed"),
    ],
)
def test_tasks(text: str, task: tuple[bool, str], status: str) -> None:
    assert parse_task(Completion(text=text), "step")[:2] == (task, status)


@pytest.mark.parametrize(
    ("text", "solution", "status"),
    [
        ("Answer: Delft.\nSuccess: No", ("Delft", False), "ok"),
        ('{"analysis": "x", "answer": "Delft", "success": "Yes", "rating": 8}', ("Delft", True), "ok"),
        ("Delft", ("Delft", True), "repaired"),
        ("", ("", False), "failed"),
        ("Success: yes", ("", False), "failed"),
        ("{broken", ("", False), "failed"),
    ],
)
def test_solutions(text: str, solution: tuple[str, bool], status: str) -> None:
    assert parse_solution(Completion(text=text))[:2] == (solution, status)


@pytest.mark.parametrize(
    ("text", "note", "status"),
    [("none.", "", "ok"), ("It says\nso.", "It says so.", "ok"), ("", "", "failed"), ("Not relevant.", "", "ok")],
)
def test_notes(text: str, note: str, status: str) -> None:
    assert parse_note(Completion(text=text))[:2] == (note, status)
