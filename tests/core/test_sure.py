"""SuRe against scripts: branches, what they see, the two ways of scoring, odd candidates and replies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.helpers import method_of, of, run_method
from trio_core.events import Answered, Knowledge, LLMCalled
from trio_core.methods.sure import parse_candidates
from trio_core.trace import trace_of

SCRIPT: dict[str, Any] = {
    "candidates": ["(a) Oslo, (b) Delft"],
    "support": ["Oslo is likely. DONE", "Bea Cole was born in Delft. DONE"],
    "valid": ["False", "True"],
    "rank": ["Paragraph 2", "1"],
}


async def ask(settings: dict[str, Any] | None = None, **changes: Any) -> list[Any]:
    return await run_method(method_of("sure", SCRIPT | changes, settings))


async def test_the_better_case_wins() -> None:
    events = await ask()
    calls = of(events, LLMCalled)
    assert [c.role for c in calls] == ["candidates", "support", "support", "valid", "valid", "rank", "rank"]
    assert [(k.branch, k.score, k.chosen) for k in of(events, Knowledge)] == [("(a) Oslo", 0.0, False), ("(b) Delft", 1.0, True)]
    assert of(events, Answered)[0].answer == "Delft" and events[-1].totals.retrievals == 1
    assert [c.branch for c in calls[1:5]] == ["(a) Oslo", "(b) Delft"] * 2
    round_ = trace_of(e for e in events if e.type != "text_delta").rounds[0]
    assert list(round_.branches) == ["(a) Oslo", "(b) Delft"] and round_.knowledge is None


async def test_check_and_comparison_do_not_see_the_passages_and_a_case_sees_only_its_own() -> None:
    calls = of(await ask(), LLMCalled)
    for call in calls:
        text = call.messages[-1].content
        assert ("directed by Bea Cole" in text) == (call.role in ("candidates", "support"))
        assert ("passages" in {h.what for h in call.hidden}) == (call.role in ("valid", "rank"))
    assert "Oslo is likely" not in calls[2].messages[-1].content and "Oslo is likely" not in calls[4].messages[-1].content
    assert "(a) Oslo" in calls[2].messages[-1].content, "the authors show all candidates"
    hidden = of(await ask({"show_choices": False}), LLMCalled)[2]
    assert "Oslo" not in hidden.messages[-1].content


@pytest.mark.parametrize(
    ("valid", "rank", "scoring", "scores"),
    [
        (["True", "True"], ["1", "2"], "ranks", [1.0, 0.0]),
        (["True", "True"], ["1", "1"], "ranks", [0.5, 0.5]),
        (["False", "True"], ["1", "1"], "ranks", [0.25, 0.75]),
        (["False", "True"], ["1", "2"], "ranks", [0.5, 0.5]),
        (["maybe", "False"], ["none of it", "2"], "ranks", [0.5, 0.5]),
        (["True", "True"], ["1", "2"], "wins", [3.0, 1.0]),
        (["False", "True"], ["1", "neither"], "wins", [1.5, 1.5]),
    ],
)
async def test_scores(valid: list[str], rank: list[str], scoring: str, scores: list[float]) -> None:
    events = await ask({"scoring": scoring}, valid=valid, rank=rank)
    assert [k.score for k in of(events, Knowledge)] == scores
    assert of(events, Answered)[0].answer == ("Oslo" if scores[0] >= scores[1] else "Delft"), "a tie goes to the first"


async def test_a_case_that_was_not_written_is_neither_checked_nor_compared() -> None:
    events = await ask(support=["", "Bea Cole was born in Delft."], valid=["True"], rank=[])
    assert of(events, Answered)[0].answer == "Delft" and events[-1].totals.calls == 4


@pytest.mark.parametrize(
    ("text", "names", "status"),
    [
        ("(a) Oslo, (b) Delft", ["Oslo", "Delft"], "ok"),
        ("(a) Oslo\n(b) Delft\n(c) Rome", ["Oslo", "Delft"], "repaired"),
        ("Oslo, Delft", ["Oslo", "Delft"], "repaired"),
        ("1. Oslo\n2. Delft", ["Oslo", "Delft"], "repaired"),
        ("(a) Oslo, (b) oslo.", ["Oslo"], "ok"),
        ('<think>(a) X</think>(a) "Oslo", (b) **Delft**', ["Oslo", "Delft"], "ok"),
        ("Delft", ["Delft"], "repaired"),
        ("", [], "failed"),
        ("(a) (b)", [], "failed"),
    ],
)
def test_candidates(text: str, names: list[str], status: str) -> None:
    assert parse_candidates(text, 2)[:2] == (names, status)


async def test_one_candidate_alone_is_the_answer() -> None:
    events = await ask(candidates=["Delft"])
    assert of(events, Answered)[0].answer == "Delft" and events[-1].totals.calls == 1
    none = of(await ask(candidates=["()"]), Answered)[0]
    assert none.answer == "" and none.note == "no candidate in the output"
