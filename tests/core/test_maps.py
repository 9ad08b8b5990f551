"""MAPS against scripts: directions, parallel search, what later rounds may not see, its three ablations."""

from __future__ import annotations

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.events import Directions, Knowledge, LLMCalled, Retrieved, StateSaved, SubQueries, Verdict

PLAN = "Director -> Alpha director\nBirth -> director born\nCity -> Delft city"
REFINE = "Knowledge:\n- Alpha is by Bea Cole.\nSummary: The birthplace is missing."
REFINE2 = "Knowledge:\n- Bea Cole was born in Delft.\nSummary: All is known."
JUDGE = {"text": "Insufficient Information", "p_sufficient": 0.2}
SCRIPT = {"plan": [PLAN, "Birth -> Bea Cole born", "ENOUGH"], "refine": [REFINE, REFINE2], "judge": [JUDGE] * 3, "answer": ["Delft"]}


async def test_two_rounds_then_enough() -> None:
    events = await run_method(method_of("maps", SCRIPT))
    assert events[-1].reason == "enough"
    assert [len(q.queries) for q in of(events, SubQueries)] == [3, 1, 0]
    assert of(events, Directions)[-1].enough and len(of(events, Retrieved)) == 4
    assert of(events, StateSaved)[-1].state["knowledge"] == ["Alpha is by Bea Cole.", "Bea Cole was born in Delft."]


async def test_later_rounds_do_not_see_earlier_queries_or_passages() -> None:
    events = await run_method(method_of("maps", SCRIPT))
    second = [c for c in of(events, LLMCalled) if c.role in ("plan", "refine", "answer") and (c.round > 1 or c.role == "answer")]
    for call in second:
        text = " ".join(m.content for m in call.messages)
        assert "Alpha director" not in text and "Alpha is by Bea Cole." in text
        assert {h.what for h in call.hidden} == {"sub-queries", "passages"}


async def test_without_disentanglement_the_history_is_visible() -> None:
    events = await run_method(method_of("maps", SCRIPT, {"disentangle": False}))
    plan = [c for c in of(events, LLMCalled) if c.role == "plan"][1]
    assert "Alpha director" in plan.messages[-1].content and not plan.hidden


async def test_passages_are_merged_and_every_finder_is_kept() -> None:
    events = await run_method(method_of("maps", SCRIPT))
    finders = [r.query_index for r in of(events, Retrieved) if r.round == 1 and any(h.passage.id == "p1" for h in r.hits)]
    refine = next(c for c in of(events, LLMCalled) if c.role == "refine")
    assert finders == [0, 1, 2] and refine.messages[-1].content.count("directed by Bea Cole") == 1


async def test_one_direction_a_round_without_parallelism() -> None:
    events = await run_method(method_of("maps", SCRIPT, {"parallel": False}))
    assert max(len(q.queries) for q in of(events, SubQueries)) == 1


async def test_queries_without_directions() -> None:
    script = SCRIPT | {"sub_queries": ["Alpha director\nBea Cole born", "Delft city"], "refine": [REFINE, REFINE2]}
    events = await run_method(method_of("maps", script, {"list_directions": False, "max_rounds": 2}))
    assert events[-1].reason == "round_limit"
    assert all(not d.directions for d in of(events, Directions)) and of(events, SubQueries)[0].queries[0].direction is None


async def test_two_calls_instead_of_one() -> None:
    script = SCRIPT | {"directions": ["Director\nBirth", "ENOUGH"], "sub_queries": ["Alpha director\nBea Cole born"]}
    events = await run_method(method_of("maps", script, {"fused": False}))
    assert [c.role for c in of(events, LLMCalled)] == ["directions", "sub_queries", "judge", "refine", "directions", "answer"]
    assert of(events, SubQueries)[0].queries[1].direction == "Birth"


async def test_shadow_judge_decides_nothing_and_can_be_off() -> None:
    script = SCRIPT | {"judge": [{"text": "Sufficient Information", "p_sufficient": 0.9}] * 3}
    verdicts = of(await run_method(method_of("maps", script)), Verdict)
    assert len(verdicts) == 2 and not any(v.deciding for v in verdicts)
    assert verdicts[1].item.passage_ids == {"p1", "p2", "p3"}
    assert not of(await run_method(method_of("maps", SCRIPT | {"judge": []}, {"shadow_judge": False})), Verdict)


async def test_only_repeats_end_the_search() -> None:
    script = SCRIPT | {"plan": [PLAN, PLAN]}
    events = await run_method(method_of("maps", script))
    assert events[-1].reason == "repeat" and all(q.repeated for q in of(events, SubQueries)[1].queries)


async def test_enough_before_any_search_is_no_plan() -> None:
    events = await run_method(method_of("maps", SCRIPT | {"plan": ["ENOUGH"]}))
    assert events[-1].reason == "no_query" and of(events, LLMCalled)[0].parse == "failed"


async def test_a_summary_that_repeats_a_query_is_flagged() -> None:
    script = SCRIPT | {"refine": ["Knowledge:\n- x\nSummary: We searched alpha director already.", REFINE2]}
    assert of(await run_method(method_of("maps", script)), Knowledge)[0].overlap == ("Alpha director",)


async def test_the_whole_batch_is_one_search() -> None:
    retriever = ListRetriever()
    await run_method(method_of("maps", SCRIPT, {"top_k": 2}, retriever))
    assert retriever.asked[:3] == [("Alpha director", 2), ("director born", 2), ("Delft city", 2)]
