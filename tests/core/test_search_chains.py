"""Search-o1 and ParallelSearch against scripts: tags, turns, canned results, what a call may not see."""

from __future__ import annotations

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.events import Answered, Knowledge, LLMCalled, Retrieved, StateSaved, SubQueries
from trio_core.methods.search_o1 import NOTHING, abridged, parse_extract
from trio_core.values import Completion

STEPS = [
    "Who made Alpha? <search>Alpha director</search>",
    "Then her birthplace. <search>Bea Cole birthplace",
    "So it is \\boxed{\\text{Delft}}.",
]
EXTRACTS = ["**Final Information**\nBea Cole directed Alpha.", "Final Information: Bea Cole was born in Delft."]
O1 = {"reason": STEPS, "extract": EXTRACTS}
PARALLEL = {"step": ["Two facts. <search>Alpha director ## Bea Cole birthplace</search>", "I know. <answer>Delft</answer>"]}


def sent(call: LLMCalled) -> str:
    return "\n".join(m.content for m in call.messages)


async def test_search_o1_reasons_searches_and_answers() -> None:
    events = await run_method(method_of("search_o1", O1))
    assert [c.role for c in of(events, LLMCalled)] == ["reason", "extract", "reason", "extract", "reason"]
    assert [q.text for e in of(events, SubQueries) for q in e.queries] == ["Alpha director", "Bea Cole birthplace"]
    assert events[-1].reason == "answered" and of(events, Answered)[0].answer == "Delft"
    assert [k.notes for k in of(events, Knowledge)] == [("Bea Cole directed Alpha.",), ("Bea Cole was born in Delft.",)]


async def test_only_extracts_enter_the_reasoning() -> None:
    calls = of(await run_method(method_of("search_o1", O1)), LLMCalled)
    last, extract = calls[-1], calls[3]
    assert (
        "directed by" not in sent(last) and "<result>Bea Cole directed Alpha.</result>" in sent(last) and last.hidden[0].what == "passages"
    )
    assert [m.role for m in last.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last.messages[2].content == STEPS[0] and last.messages[4].content.endswith("<search>Bea Cole birthplace</search>")
    assert "born in Delft" in sent(extract) and "<search>Alpha director</search>" in sent(extract)


async def test_long_reasoning_is_abridged_for_the_extract() -> None:
    text, left_out = abridged("one\ntwo\n<search>x</search>\nfour\nfive\nsix\nseven\neight")
    assert (
        text.splitlines() == ["1. one", "...", "3. <search>x</search>", "...", "5. five", "6. six", "7. seven", "8. eight"]
        and left_out == 2
    )
    long = "\n".join(f"line {i}" for i in range(20)) + "\n<search>Alpha director</search>"
    call = of(await run_method(method_of("search_o1", O1 | {"reason": [long, STEPS[2]]})), LLMCalled)[1]
    assert "line 0" in sent(call) and "line 9" not in sent(call) and call.hidden[0].count == 16


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("Final Information: It is Delft.\nYes.", "It is Delft. Yes.", "ok"),
        ("**Final Information:**\n\nDelft", "Delft", "ok"),
        ("Final Information: No helpful information found.", NOTHING, "ok"),
        ("Delft", NOTHING, "failed"),
        ("", NOTHING, "failed"),
        ("<think>Final Information: X", NOTHING, "failed"),
    ],
)
def test_extracts(text: str, value: str, status: str) -> None:
    assert parse_extract(Completion(text=text))[:2] == (value, status)


async def test_a_repeated_search_and_one_too_many_get_canned_results() -> None:
    reason = ["<search>Alpha director</search>", "<search>alpha DIRECTOR</search>", "<search>more</search>", "\\boxed{Delft}"]
    events = await run_method(method_of("search_o1", O1 | {"reason": reason}, {"max_searches": 1}))
    calls = of(events, LLMCalled)
    assert len(of(events, Retrieved)) == 1 and "No more searches" in sent(calls[-1]) and of(events, Answered)[0].answer == "Delft"
    events = await run_method(method_of("search_o1", O1 | {"reason": [reason[0], reason[1], reason[3]]}))
    assert len(of(events, Retrieved)) == 1 and "searched before" in sent(of(events, LLMCalled)[-1])


@pytest.mark.parametrize("step", ["I do not know.", "", {"text": "<search>half a qu", "finish_reason": "length"}, "<search></search>"])
async def test_without_an_answer_search_o1_backs_off_to_the_bare_question(step: object) -> None:
    events = await run_method(method_of("search_o1", {"reason": [step], "answer": ["Oslo"]}))
    assert of(events, Answered)[0].answer == "Oslo" and events[-1].reason == "no_output" and not of(events, Retrieved)
    bare = await run_method(method_of("search_o1", {"reason": [step]}, {"backoff": False}))
    assert of(bare, Answered)[0].answer == "" and of(bare, Answered)[0].note


async def test_an_answer_in_words_counts() -> None:
    assert of(await run_method(method_of("search_o1", {"reason": ["The answer is Delft."]})), Answered)[0].answer == "Delft"


async def test_parallel_parts_are_one_batch_and_all_stays_visible() -> None:
    retriever = ListRetriever({"Alpha director": ["p1"], "Bea Cole birthplace": ["p2"]})
    events = await run_method(method_of("parallel_search", PARALLEL, retriever=retriever))
    assert [len(e.queries) for e in of(events, SubQueries)] == [2] and events[-1].totals.retrievals == 2
    last = of(events, LLMCalled)[-1]
    assert "directed by Bea Cole" in sent(last) and "born in Delft" in sent(last) and not last.hidden
    assert last.messages[2].content == PARALLEL["step"][0] and of(events, Answered)[0].answer == "Delft"


async def test_a_step_without_tags_is_corrected() -> None:
    events = await run_method(method_of("parallel_search", {"step": ["Hm.", "<answer>Delft</answer>"]}))
    assert "neither a search nor an answer" in sent(of(events, LLMCalled)[-1]) and of(events, Answered)[0].answer == "Delft"


async def test_the_last_turn_only_answers() -> None:
    script = {"step": ["<search>a b</search>", "<search>c d</search>"]}
    events = await run_method(method_of("parallel_search", script, {"max_turns": 1}))
    assert len(of(events, Retrieved)) == 1 and "No more searches" in sent(of(events, LLMCalled)[-1])
    assert of(events, Answered)[0].note == "the last turn held no answer" and events[-1].reason == "round_limit"


async def test_parts_are_capped_stripped_and_not_searched_twice() -> None:
    script = {"step": ["<search> a one ## ## a ONE ## b two ## c three</search>", "<search>b two</search>", "<answer>Delft</answer>"]}
    retriever = ListRetriever()
    events = await run_method(method_of("parallel_search", script, {"max_parts": 3}, retriever))
    assert [q for q, _ in retriever.asked] == ["a one", "b two"] and "searched before" in sent(of(events, LLMCalled)[-1])


async def test_a_long_result_leaves_passages_out_whole() -> None:
    retriever = ListRetriever()
    events = await run_method(method_of("parallel_search", {"step": PARALLEL["step"]}, {"observation_tokens": 100}, retriever))
    turn = of(events, StateSaved)[0].state["turns"][-1]["content"]
    assert turn.startswith("<information>") and turn.endswith("</information>") and turn.count("Query") == 2


async def test_a_person_can_send_a_chain_on() -> None:
    first = await run_method(method_of("search_o1", {"reason": ["\\boxed{Oslo}"]}))
    method = method_of("search_o1", {"reason": ["\\boxed{Delft}"]})
    state = method.forked(method.load(of(first, StateSaved)[0].state), "insufficient")
    events = [e async for e in method.round(state)]
    assert "Do not answer yet" in sent(of(events, LLMCalled)[0]) and events[-1].answer == "Delft"
