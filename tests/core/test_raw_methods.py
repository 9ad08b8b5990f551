"""Search-R1, R1-Searcher and Self-RAG against scripts: one growing text, grading tokens, engines that cannot."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.events import Answered, Knowledge, LLMCalled, Retrieved, RunFailed, StateSaved
from trio_core.methods.self_rag import read_output
from trio_core.values import Capabilities, ChatCall, Completion

Q = "Where was the director of Alpha born?"
R1 = ["<think>Who made it?</think>\n<search>Alpha director", "<think>Now I know.</think>\n<answer> Delft"]


def sent(call: LLMCalled) -> str:
    assert len(call.messages) == 1
    return call.messages[0].content


async def test_search_r1_continues_one_text() -> None:
    retriever = ListRetriever({"Alpha director": ["p1"]})
    method = method_of("search_r1", {"step": R1}, retriever=retriever)
    events = await run_method(method, "Where was she born")
    first, second = of(events, LLMCalled)
    assert (
        sent(first).startswith("<|im_start|>system")
        and sent(first).endswith("<|im_start|>assistant\n")
        and "Where was she born?" in sent(first)
    )
    added = sent(second).removeprefix(sent(first))
    assert added == R1[0] + "</search>\n\n<information>Doc 1 (Title: Alpha): Alpha was directed by Bea Cole.</information>\n\n"
    assert of(events, Answered)[0].answer == "Delft" and retriever.asked == [("Alpha director", 3)] and events[-1].reason == "answered"
    calls: list[ChatCall] = method.tools.engine.calls
    assert all(c.raw and c.stop == ("</search>", "</answer>") for c in calls) and not first.hidden


async def test_an_invalid_action_is_answered_with_a_correction() -> None:
    events = await run_method(
        method_of("search_r1", {"step": ["Hm.", {"text": "<search>half", "finish_reason": "length"}, "<answer>Delft</answer>"]})
    )
    assert sent(of(events, LLMCalled)[2]).count("That was no valid action.") == 2 and not of(events, Retrieved)
    assert of(events, Answered)[0].answer == "Delft", "the example answer of the prompt is never read"


async def test_the_last_turn_does_not_search() -> None:
    events = await run_method(method_of("search_r1", {"step": ["<search>a b</search>"] * 3}, {"max_turns": 2}))
    assert (
        len(of(events, Retrieved)) == 2
        and events[-1].reason == "round_limit"
        and of(events, Answered)[0].note == "the last turn held no answer"
    )


async def test_a_result_leaves_whole_passages_out() -> None:
    events = await run_method(method_of("search_r1", {"step": R1}, {"observation_tokens": 50, "top_k": 3}))
    assert 1 <= of(events, StateSaved)[0].state["text"].count("Doc ") <= 3


async def test_r1_searcher_has_its_own_tags_and_no_template() -> None:
    script = {"step": ['I need it. <|begin_of_query|> "Alpha" director... <|end_of_query|>', "</think>\n<answer>Delft</answer>"]}
    retriever = ListRetriever({"Alpha director": ["p1", "p2"]})
    events = await run_method(method_of("r1_searcher", script, retriever=retriever))
    first, second = of(events, LLMCalled)
    assert sent(first).endswith("Assistant: <think>") and "<|im_start|>" not in sent(first) and retriever.asked == [("Alpha director", 5)]
    assert "<|begin_of_documents|>\n(1) Alpha Alpha was directed by Bea Cole.\n(2) Bea Cole" in sent(second)
    assert of(events, Answered)[0].answer == "Delft"


@pytest.mark.parametrize("step", ["I give up.", "", "<|begin_of_query|><|end_of_query|>", "<answer></answer>"])
async def test_r1_searcher_ends_without_an_answer_and_says_so(step: str) -> None:
    events = await run_method(method_of("r1_searcher", {"step": [step]}))
    assert events[-1].reason == "no_output" and of(events, Answered)[0].answer == "" and of(events, Answered)[0].note


async def test_a_person_can_send_it_on() -> None:
    first = await run_method(method_of("search_r1", {"step": ["<answer>Oslo</answer>"]}))
    method = method_of("search_r1", {"step": ["<answer>Delft</answer>"]})
    state = method.forked(method.load(of(first, StateSaved)[0].state), "insufficient")
    events = [e async for e in method.round(state)]
    assert sent(of(events, LLMCalled)[0]).endswith("search once more.\n") and events[-1].answer == "Delft"


@pytest.mark.parametrize("name", ["search_r1", "r1_searcher", "self_rag"])
async def test_an_engine_without_raw_texts_is_refused_with_what_to_do(name: str) -> None:
    async def probe() -> Capabilities:
        return Capabilities(model="m", logprobs=True, raw=False)

    method = method_of(name, {})
    method.tools.engine.probe = probe
    end = (await run_method(method))[-1]
    assert isinstance(end, RunFailed) and end.acts == "user" and "/v1/completions" in end.message and "vLLM" in end.message


def token(text: str, p: float, **others: float) -> dict[str, Any]:
    return {"text": text, "logprob": math.log(p), "top": {k: math.log(v) for k, v in others.items()}}


def retrieve(p: float) -> dict[str, Any]:
    return {"text": "[Retrieval]", "tokens": [token("[Retrieval]", p, **{"[No Retrieval]": 1 - p})]}


GOOD = {
    "text": "[Relevant]Delft.[Fully supported][Utility:5]",
    "tokens": [
        token("[Relevant]", 0.8, **{"[Irrelevant]": 0.2}),
        token("Delft", 0.5),
        token("[Fully supported]", 0.6, **{"[Partially supported]": 0.2}),
        token("[Utility:5]", 1.0),
    ],
}
BAD = {
    "text": "[Irrelevant]Oslo[No support / Contradictory][Utility:1]",
    "tokens": [
        token("[Irrelevant]", 0.9, **{"[Relevant]": 0.1}),
        token("Oslo", 0.5),
        token("[No support / Contradictory]", 1.0),
        token("[Utility:1]", 1.0),
    ],
}


async def test_self_rag_answers_from_each_passage_and_takes_the_best_graded() -> None:
    events = await run_method(method_of("self_rag", {"retrieve": [retrieve(0.3)], "generate": [BAD, GOOD]}, {"top_k": 2}))
    bad, good = of(events, Knowledge)
    # Worked out by hand: geometric mean, relevance, support (0.6 + 0.5 * 0.2) / 0.8, utility 1.
    assert good.score == pytest.approx((0.8 * 0.5 * 0.6) ** 0.25 + 0.8 + 0.875 + 1.0) and good.chosen
    assert bad.score == pytest.approx((0.9 * 0.5) ** 0.25 + 0.1 + 0.0 - 1.0) and not bad.chosen
    assert (
        of(events, Answered)[0].answer == "Delft."
        and events[-1].totals.calls == 3
        and [k.branch for k in (bad, good)] == ["1. Alpha", "2. Bea Cole"]
    )


async def test_a_branch_of_self_rag_sees_only_its_passage() -> None:
    method = method_of("self_rag", {"retrieve": [retrieve(0.9)], "generate": [BAD, GOOD]}, {"top_k": 2})
    calls = of(await run_method(method), LLMCalled)
    assert sent(calls[0]) == f"### Instruction:\n{Q}\n\n### Response:\n"
    assert (
        sent(calls[1])
        == f"### Instruction:\n{Q}\n\n### Response:\n[Retrieval]<paragraph>Alpha\nAlpha was directed by Bea Cole.</paragraph>"
    )
    assert "directed by" not in sent(calls[2]) and calls[2].hidden[0].count == 1 and method.tools.engine.calls[0].alternatives == 20


async def test_below_the_threshold_self_rag_does_not_search() -> None:
    events = await run_method(method_of("self_rag", {"retrieve": [retrieve(0.2)], "direct": ["Delft[Utility:5]"]}))
    assert (
        of(events, Answered)[0].answer == "Delft"
        and not of(events, Retrieved)
        and sent(of(events, LLMCalled)[1]).endswith("Response:\n[No Retrieval]")
    )


async def test_self_rag_without_decision_tokens_searches_and_says_so() -> None:
    events = await run_method(method_of("self_rag", {"retrieve": ["The"], "generate": ["", "[Relevant]"]}, {"top_k": 2}))
    assert of(events, LLMCalled)[0].parse == "failed" and of(events, Answered)[0].note == "no output in any branch"


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("[Relevant]Delft.[Partially supported][Utility:3]</s>", "Delft.", "ok"),
        ("[Irrelevant]\n# : Delft\nis it[No support / Contradictory]", "Delft is it", "ok"),
        ("", "", "failed"),
        ("[Relevant][Utility:1]", "", "failed"),
        ("[1] stays", "[1] stays", "ok"),
    ],
)
def test_control_tokens_are_taken_out(text: str, value: str, status: str) -> None:
    assert read_output(Completion(text=text))[:2] == (value, status)
