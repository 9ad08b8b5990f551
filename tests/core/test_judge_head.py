"""The calibrated head: its arithmetic by hand, its signals, and what a run shows of it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from tests.core.helpers import method_of, of, run_method
from tests.core.test_evidence import ITEM
from trio_core.engines.base import JudgeAdapter
from trio_core.events import LLMCalled, Verdict, event_from_json, event_to_json
from trio_core.evidence import AnswerCount, EvidenceReport
from trio_core.judge_head import JudgeHead
from trio_core.judge_signals import signals
from trio_core.values import Hit, JudgeItem, Passage, PoolEntry

PLAIN = {"features": ("logit", "round"), "means": (0.5, 2.0), "scales": (2.0, 1.0), "coefficients": (3.0, -1.0), "intercept": 0.25}


def test_p_is_the_logistic_of_the_standardised_sum() -> None:
    head = JudgeHead(**PLAIN)
    assert head.p({"logit": 1.5, "round": 3.0}) == pytest.approx(1 / (1 + math.exp(-(0.25 + 3 * 0.5 - 1.0))))
    assert head.p({"logit": 0.5}) == pytest.approx(1 / (1 + math.exp(-0.25)))  # an unknown signal counts as its mean
    assert head.p({"round": 3.0}) is None and head.p({"logit": -1e6, "round": 1.0}) == 0.0
    assert JudgeHead.model_validate_json(head.model_dump_json()) == head


@pytest.mark.parametrize("change", [
    {"features": ("logit", "mood")}, {"means": (0.5,)}, {"scales": (0.0, 1.0)}, {"coefficients": (math.nan, 1.0)}, {"version": 2},
    {"features": ("logit", "agreement")},
])
def test_a_head_that_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        JudgeHead(**{**PLAIN, **change})


def test_signals_of_a_pool() -> None:
    hits = tuple(Hit(passage=Passage(id=i, text=f"text of {i}"), score=s, rank=1) for i, s in (("p1", 0.6), ("p9", 0.2)))
    more = PoolEntry(query="Bea", hits=hits)
    item = ITEM.model_copy(update={"pool": (*ITEM.pool, more)})
    answers = EvidenceReport(asked=2, n=2, agreement=0.5, mean_logprob=-0.7, answers=(AnswerCount(answer="the Delft.", key="delft", n=1),))
    found = signals(item, 0.75, answers)
    assert found["logit"] == pytest.approx(math.log(3)) and (found["round"], found["new_passages"]) == (2.0, 1.0)
    assert (found["top_score"], found["mean_score"]) == (0.6, pytest.approx((3 * 1.0 + 0.6 + 0.2) / 5))
    assert (found["agreement"], found["answer_logprob"], found["answer_in_pool"]) == (0.5, -0.7, 1.0)
    assert found["question_in_pool"] == pytest.approx(2 / 3)  # alpha and born, not director
    assert found["pool_tokens"] > 0
    assert "logit" not in signals(item, None) and "agreement" not in signals(item, 0.5)


@pytest.mark.parametrize(("question", "value"), [
    ("Which film came out first, Alpha or Beta?", 1.0), ("Are both Alpha and Beta from Delft?", 1.0), ("Who directed Alpha?", 0.0),
    ("In which city was the founder of Alpha and Sons born?", 0.0),
])
def test_comparisons(question: str, value: float) -> None:
    assert signals(ITEM.model_copy(update={"question": question}), None)["comparison"] == value


@pytest.mark.parametrize(("question", "relations"), [
    ("Who directed Alpha?", 1), ("Where was Alpha's maker born?", 2), ("In which city was the mother of the man that made Alpha born?", 3),
    ("When did Bea Moor die?", 0), ("Its offer", 0),
])
def test_relations_of_a_question(question: str, relations: int) -> None:
    assert signals(ITEM.model_copy(update={"question": question}), None)["relations"] == relations


def _item(question: str, *passages: tuple[str, str]) -> JudgeItem:
    hits = tuple(Hit(passage=Passage(id=f"p{n}", title=t, text=x), score=1.0, rank=n) for n, (t, x) in enumerate(passages, 1))
    return ITEM.model_copy(update={"question": question, "pool": (PoolEntry(query=question, hits=hits),)})


@pytest.mark.parametrize(("question", "passages", "links", "chain"), [
    ("Where was the director of Alpha born?", (("Alpha (film)", "A film by Bea Moor."), ("Bea Moor", "Born in Delft.")), 1.0, 1.0),
    ("Where was the director of Alpha born?", (("Alpha (film)", "A film."), ("Bea Moor", "Born in Delft.")), 0.0, 0.0),
    ("Where was Zed's maker from?", (("Alpha", "A film by Bea Moor."), ("Bea Moor", "Born in Delft.")), 1.0, 0.0),
    ("Which is older, Alpha or Beta?", (("Alpha", "Of 1912."), ("Beta (band)", "Of 1915.")), 0.0, 1.0),
    ("Which is older, Alpha or Beta?", (("Alpha", "Of 1912."), ("Alpha (band)", "Of 1915.")), 0.0, 0.0),
    ("Who made M?", (("M", "M is by Lang."), ("Fritz Lang", "He made M.")), 0.0, 0.0),
])
def test_chains_of_passages(question: str, passages: tuple[tuple[str, str], ...], links: float, chain: float) -> None:
    found = signals(_item(question, *passages), None)
    assert (found["links"], found["chain"]) == (links, chain)


def test_titles_that_queries_name() -> None:
    item = _item("Where was the director of Alpha born?", ("Alpha (film)", "A film by Bea Moor."), ("Bea Moor", "Born in Delft."), ("Delft", "A city."))
    assert signals(item, None)["named_titles"] == 1
    more = item.model_copy(update={"pool": (*item.pool, PoolEntry(query="Bea Moor birthplace", hits=()))})
    assert signals(more, None)["named_titles"] == 2


async def test_a_run_shows_the_head_and_counts_its_calls() -> None:
    script = {"judge": [{"text": "Insufficient Information", "p_sufficient": 0.2}], "answer": ["Delft", "Delft", "Leiden", "Delft"]}
    method = method_of("trio", script)
    head = JudgeHead(features=("logit", "agreement"), means=(0, 0), scales=(1, 1), coefficients=(0.0, 3.0), intercept=0.0, samples=3)
    await method.tools.engine.use_judge(JudgeAdapter(name="judge-4", threshold=0.6, head=head))
    events = await run_method(method)
    (verdict,) = of(events, Verdict)
    assert (verdict.label, verdict.p_method, verdict.p_raw, verdict.judged_by) == ("sufficient", "head", 0.2, "judge-4")
    assert verdict.p_sufficient == pytest.approx(1 / (1 + math.exp(-2))) and verdict.signals["agreement"] == pytest.approx(2 / 3)
    assert [c.role for c in of(events, LLMCalled)] == ["judge", "sample", "sample", "sample", "answer"] and events[-1].totals.calls == 5
    assert event_from_json(event_to_json(verdict)) == verdict


async def test_without_log_probabilities_the_written_label_stands() -> None:
    method = method_of("trio", {"judge": ["Sufficient Information"], "answer": ["Delft"]})
    await method.tools.engine.use_judge(JudgeAdapter(name="judge-4", head=JudgeHead(**PLAIN)))
    (verdict,) = of(await run_method(method), Verdict)
    assert (verdict.label, verdict.p_sufficient, verdict.p_raw, verdict.signals) == ("sufficient", None, None, None)
