"""Naive RAG, Iter-RetGen and IRCoT against scripts: order of steps, what a call may not see, odd output."""

from __future__ import annotations

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.errors import InputError
from trio_core.events import Answered, LLMCalled, Retrieved, StateSaved, SubQueries

Q = "Where was the director of Alpha born?"
THOUGHTS = ["Alpha was directed by Bea Cole. More", "Bea Cole was born in Delft.", "So the answer is: Delft."]


def texts(events: list[object], role: str) -> list[str]:
    return [" ".join(m.content for m in c.messages) for c in of(events, LLMCalled) if c.role == role]


async def test_naive_searches_once_and_shows_all_passages() -> None:
    retriever = ListRetriever()
    events = await run_method(method_of("naive", {"answer": ["Delft"]}, {"top_k": 2}, retriever))
    assert retriever.asked == [(Q, 2)] and events[-1].reason == "one_round"
    assert "directed by Bea Cole" in texts(events, "answer")[0] and "Delft is a city" not in texts(events, "answer")[0]
    method = method_of("naive", {})
    state = method.load(of(events, StateSaved)[0].state)
    assert method.forked(state, "sufficient").stop == "fork"
    with pytest.raises(InputError, match="searches once"):
        method.forked(state, "insufficient")


@pytest.mark.parametrize(
    ("preset", "query"),
    [("paper", f"It is Bea Cole. So the answer is: Oslo. {Q}"), ("flashrag", f"{Q} It is Bea Cole. So the answer is: Oslo.")],
)
async def test_the_output_makes_the_next_query(preset: str, query: str) -> None:
    script = {"*": ["It is Bea Cole.\nSo the answer is: Oslo.", "So the answer is: Delft.", "So the answer is: Delft in Holland."]}
    events = await run_method(method_of("iter_retgen", script, {"preset": preset}))
    asked = [q.text for e in of(events, SubQueries) for q in e.queries]
    assert asked[:2] == [Q, query] and len(asked) == {"paper": 2, "flashrag": 3}[preset]
    assert events[-1].reason == "round_limit" and {c.role for c in of(events, LLMCalled)} == {
        "generate" if preset == "paper" else "generate_short"
    }


async def test_the_writer_sees_only_the_newest_passages() -> None:
    retriever = ListRetriever({Q: ["p1"], f"So the answer is: Oslo. {Q}": ["p2"]})
    events = await run_method(
        method_of("iter_retgen", {"generate": ["So the answer is: Oslo.", "So the answer is: Delft."]}, retriever=retriever)
    )
    second = texts(events, "generate")[1]
    assert "born in Delft" in second and "directed by" not in second and "Oslo" not in second
    assert {h.what for h in of(events, LLMCalled)[1].hidden} == {"passages", "earlier outputs"}
    assert of(events, Answered)[0].answer == "Delft" and {h.what for h in of(events, StateSaved)[1].hidden} == {
        "passages",
        "earlier outputs",
    }


async def test_a_fixed_point_ends_iter_retgen() -> None:
    script = {"generate": ["So the answer is: Oslo."] * 3}
    events = await run_method(method_of("iter_retgen", script, {"iterations": 5}))
    assert events[-1].reason == "fixed_point" and events[-1].totals.calls == 2 and of(events, SubQueries)[-1].queries[0].repeated


async def test_an_empty_output_leaves_the_question_as_the_query() -> None:
    events = await run_method(method_of("iter_retgen", {"generate": [""]}))
    assert events[-1].reason == "fixed_point" and of(events, Answered)[0].note == "empty output"


async def test_ircot_searches_with_each_sentence_and_the_reader_sees_no_sentence() -> None:
    events = await run_method(method_of("ircot", {"thought": THOUGHTS, "answer": ["Bea Cole was born there. The answer is Delft."]}))
    assert [q.text for e in of(events, SubQueries) for q in e.queries] == [
        Q,
        "Alpha was directed by Bea Cole.",
        "Bea Cole was born in Delft.",
    ]
    assert events[-1].reason == "answered" and of(events, Answered)[0].answer == "Delft"
    assert "Reasoning so far: Alpha was directed by Bea Cole. Bea Cole was born in Delft." in texts(events, "thought")[2]
    assert "born there" not in texts(events, "answer")[0] and "Reasoning so far" not in texts(events, "answer")[0]
    reader = of(events, LLMCalled)[-1]
    assert reader.hidden[0].what == "sentences of reasoning" and reader.hidden[0].count == 3
    assert of(events, LLMCalled)[0].parse == "repaired", "more than one sentence was written"


async def test_a_passage_is_collected_once_and_only_up_to_the_limit() -> None:
    events = await run_method(method_of("ircot", {"thought": THOUGHTS, "answer": ["x"]}, {"max_passages": 2}))
    pool = of(events, StateSaved)[-1].state["pool"]
    assert [h["passage"]["id"] for e in pool for h in e["hits"]] == ["p1", "p2"] and len(of(events, Retrieved)) == 3
    assert texts(events, "answer")[0].count("directed by Bea Cole") == 1


async def test_inference_is_no_query_and_question_words_are_left_out() -> None:
    script = {
        "thought": ["Alpha has a director who is Bea Cole.", "Thus she is the one.", "Therefore it is known.", "So the answer is: Delft"],
        "answer": ["x"],
    }
    queries = [e.queries[0] for e in of(await run_method(method_of("ircot", script)), SubQueries)]
    assert [q.text for q in queries[1:]] == ["Alpha has a director is Bea Cole."] * 3 and [q.repeated for q in queries[1:]] == [
        False,
        True,
        True,
    ]


async def test_ircot_as_flashrag_has_no_reader() -> None:
    script = {"thought": ["Dr. Cole was born in Delft.", "The answer is Delft"]}
    events = await run_method(method_of("ircot", script, {"preset": "flashrag"}))
    assert of(events, StateSaved)[0].state["thoughts"] == ["Dr."] and of(events, Answered)[0].answer == "Delft"
    assert texts(events, "thought")[0].index("Delft is a city") < texts(events, "thought")[0].index("directed by")
    unmarked = await run_method(method_of("ircot", {"thought": ["She was born.", "In Delft."]}, {"preset": "flashrag"}))
    assert of(unmarked, Answered)[0].answer == "She was born. In Delft", "without the marker the whole reasoning is the answer"


@pytest.mark.parametrize(("written", "reason"), [("", "no_output"), ("…", "no_output"), (THOUGHTS[0], "repeat")])
async def test_ircot_ends_where_nothing_new_is_written(written: str, reason: str) -> None:
    events = await run_method(method_of("ircot", {"thought": [THOUGHTS[0], written], "answer": ["The answer is Delft"]}))
    assert events[-1].reason == reason and of(events, Answered)[0].answer == "Delft"


async def test_a_person_can_send_ircot_on_after_its_answer() -> None:
    first = [
        e
        for e in await run_method(method_of("ircot", {"thought": ["So the answer is: Oslo."], "answer": ["The answer is Oslo"]}))
        if e.type != "text_delta"
    ]
    method = method_of("ircot", {"thought": ["Bea Cole was born in Delft.", "So the answer is: Delft."], "answer": ["The answer is Delft"]})
    state = method.forked(method.load(of(first, StateSaved)[0].state), "insufficient")
    assert state.insist and state.stop == ""
    saved = of(first, StateSaved)[0].model_copy(update={"state": state.model_dump(mode="json")})
    rest = await run_method(method, earlier=[e if e.type != "state_saved" else saved for e in first])
    assert "Do not answer yet" in texts(rest, "thought")[0] and "Do not answer yet" not in texts(rest, "thought")[1]
    assert of(rest, Answered)[0].answer == "Delft"
