"""What holds for every method: where it is offered, its presets, its limits, its stored states."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.__main__ import main
from trio_core.cli.show import line_of
from trio_core.engines.rule_script import rule
from trio_core.errors import SettingsError
from trio_core.events import Answered, BaseEvent, LLMCalled, RunFinished, StateSaved
from trio_core.methods import METHODS
from trio_core.methods.base import check_settings
from trio_core.settings import load_settings
from trio_core.values import ChatCall
from ui.methods import at_most, method_cards, page_html

YES = {"text": "Sufficient Information", "p_sufficient": 0.9}
NO = {"text": "Insufficient Information", "p_sufficient": 0.1}
ENDLESS: dict[str, Any] = {
    "trio": {"query": [f"query {i}" for i in range(9)], "judge": [NO] * 9},
    "maps": {
        "plan": [f"a{i} -> x{i}\nb -> y{i}\nc -> z{i}" for i in range(30)],
        "refine": ["Knowledge:\n- x\nSummary: y"] * 30,
        "judge": [NO] * 30,
    },
    "no_retrieval": {},
    "naive": {},
    "iter_retgen": {"generate": [f"Step {i} says so. So the answer is: Delft {i}." for i in range(9)]},
    "ircot": {"thought": [f"Fact {i} is known." for i in range(30)]},
    "sure": {
        "candidates": ["(a) Delft, (b) Oslo, (c) Bern, (d) Rome, (e) Riga"],
        "support": [f"Case {i}. DONE" for i in range(5)],
        "valid": ["True"] * 5,
        "rank": ["1"] * 20,
    },
    "search_o1": {"reason": [f"I need it. <search>fact {i}</search>" for i in range(30)], "extract": ["Final Information: x"] * 30},
    "parallel_search": {"step": [f"<search>{' ## '.join(f'part {i} {n}' for n in range(9))}</search>" for i in range(30)]},
    "drag": {
        "proponent": ["Enough."] * 9,
        "opponent": [f"Query Expansion: thing {i}" for i in range(9)],
        "moderator": ["Opponent"] * 9,
        "answer_proponent": ["Delft"] * 9,
        "answer_opponent": ["Oslo"] * 9,
    },
    "ma_rag": {
        "plan": ["\n".join(f"{i}. Find fact {i}." for i in range(1, 9))],
        "define": [f"Type: look up\nTask: What is fact {i}?" for i in range(9)],
        "extract": ["It says so."] * 99,
        "solve": ["Answer: Delft\nSuccess: yes"] * 9,
    },
    "search_r1": {"step": [f"I need it. <search>fact {i}</search>" for i in range(30)]},
    "r1_searcher": {"step": [f"I need it. <|begin_of_query|>fact {i}<|end_of_query|>" for i in range(30)]},
    "self_rag": {
        "retrieve": [{"text": "[Retrieval]", "tokens": [{"text": "[Retrieval]", "logprob": -0.1}]}],
        "generate": ["[Relevant]Delft[Utility:5]"] * 50,
    },
    "rq_rag": {
        **{kind: [f"{kind} {i}" for i in range(20)] for kind in ("rewrite", "decompose", "disambiguate")},
        "respond": [{"text": f"Delft {i}", "mean_logprob": -1 / (1 + i)} for i in range(50)],
    },
}
"""Replies by role that make a method work as long as it may."""
NAMES = list(METHODS)


def endless(name: str, **settings: Any) -> Any:
    script = ENDLESS[name]
    return method_of(name, script if callable(script) else {"answer": ["Delft"] * 9, **script}, settings, ListRetriever())


@pytest.mark.parametrize("name", NAMES)
async def test_no_run_asks_more_than_it_says(name: str) -> None:
    method = endless(name)
    totals = (await run_method(method))[-1].totals
    calls, searches = method.max_calls()
    assert totals.calls <= calls and totals.retrievals <= searches and totals.rounds >= (name != "no_retrieval")


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_goes_on_from_each_stored_state(name: str) -> None:
    events: list[BaseEvent] = [e for e in await run_method(endless(name)) if e.type != "text_delta"]
    whole = of(events, Answered)[-1].answer
    for place, saved in enumerate(events):
        if isinstance(saved, StateSaved) and place < len(events) - 1:
            method = endless(name)
            assert method.load(saved.state).model_dump(mode="json") == saved.state
            _skip(method, of(events[: place + 1], LLMCalled))
            rest = await run_method(method, earlier=events[: place + 1])
            assert isinstance(rest[-1], RunFinished), rest[-1]
            assert of(rest, Answered)[-1].answer == whole and rest[-1].totals.calls == events[-1].totals.calls


def _skip(method: Any, calls: list[LLMCalled]) -> None:
    """Takes the replies out of the script that the stored calls used up."""
    for call in calls:
        method.tools.engine._next(ChatCall(role=call.role, messages=call.messages))


@pytest.mark.parametrize("name", NAMES)
async def test_empty_output_everywhere_still_ends_with_an_answer_event(name: str) -> None:
    events = await run_method(method_of(name, lambda call: ""))
    answer = of(events, Answered)[-1]
    assert isinstance(events[-1], RunFinished) and answer.answer == "" and answer.note


@pytest.mark.parametrize("name", NAMES)
async def test_an_output_cut_in_the_reasoning_is_no_answer(name: str) -> None:
    events = await run_method(method_of(name, lambda call: {"text": "<think>The answer is Delft, since", "finish_reason": "length"}))
    assert of(events, Answered)[-1].answer == "" and all(c.parse == "failed" for c in of(events, LLMCalled))


@pytest.mark.parametrize("name", [n for n in NAMES if hasattr(METHODS[n].settings_type, "presets")])
def test_presets_fill_what_is_not_set(name: str) -> None:
    kind = METHODS[name].settings_type
    assert set(kind.presets) == set(get_args(kind.model_fields["preset"].annotation))
    for preset, filled in kind.presets.items():
        assert filled.items() <= check_settings(kind, {"preset": preset}, name).model_dump().items()
        for key, value in filled.items():
            if isinstance(value, int) and not isinstance(value, bool):
                assert getattr(check_settings(kind, {"preset": preset, key: value + 1}, name), key) == value + 1
    with pytest.raises(SettingsError, match="preset"):
        check_settings(kind, {"preset": "nobody"}, name)


@pytest.mark.parametrize("profile", ["embedded", "vllm", "scripted"])
def test_the_profiles_settings_of_every_method_are_valid(profile: str) -> None:
    for name, values in load_settings(profile).methods.items():
        check_settings(METHODS[name].settings_type, values, name)


def test_the_embedded_profile_is_small() -> None:
    settings = load_settings("embedded").methods
    for name, kind in METHODS.items():
        calls, searches = kind(check_settings(kind.settings_type, settings.get(name, {}), name), None).max_calls()
        assert calls <= 14 and searches <= 12, name


@pytest.mark.parametrize("name", NAMES)
async def test_the_scripted_profile_brings_every_method_to_an_answer(name: str) -> None:
    events = await run_method(method_of(name, rule, None, ListRetriever()))
    assert of(events, Answered)[-1].answer and all(c.parse != "failed" for c in of(events, LLMCalled))
    assert all(line_of(e) is not None for e in events if e.type != "text_delta")


def test_every_method_is_listed_and_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in rows] == NAMES and all(r["about"] and r["needs"] and r["differs"] for r in rows)
    assert main(["methods"]) == 0 and "preset" in capsys.readouterr().out
    bench = type("Bench", (), {"method_settings": staticmethod(lambda name, _=None: {})})
    ctx: Any = type("Ctx", (), {"workbench": bench})
    for chosen in ("trio", ["trio", "maps"]):
        cards = method_cards(ctx, "", chosen).html_template
        assert all(f'value="{name}"' in cards and METHODS[name].title in cards for name in NAMES)
    assert all(METHODS[n].page.needs[:20] in page_html(n) and "at most" in at_most(ctx, n) for n in NAMES)
