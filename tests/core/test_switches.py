"""Ablations and stress switches: agents without adapter, fixed rounds, noise, MAPS's three ablations and its width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.engines.base import JudgeAdapter
from trio_core.errors import SettingsError
from trio_core.events import Directions, LLMCalled, Retrieved, SubQueries, Verdict, event_from_json, event_to_json
from trio_core.memory_store import MemoryStore
from trio_core.methods import METHODS
from trio_core.methods.base import SearchSettings
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.noise import NoisyRetriever
from trio_core.runs import RunRequest
from trio_core.settings import load_settings
from trio_core.values import Hit, Passage
from trio_core.workbench import Workbench

NO = {"text": "Insufficient Information", "p_sufficient": 0.2}
YES = {"text": "Sufficient Information", "p_sufficient": 0.9}


class Ranked(ListRetriever):
    """`size` passages in a fixed order for every query."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def _one(self, query: str, k: int) -> SearchResult:
        hits = (Hit(passage=Passage(id=f"r{n}", text=f"text {n}"), score=1 / n, rank=n) for n in range(1, min(k, self.size) + 1))
        return SearchResult(hits=tuple(hits))


async def test_each_agent_can_run_without_its_adapter() -> None:
    script = {"judge": [NO, YES], "query": ["Bea Cole"], "answer": ["Delft"]}
    for role in ("query", "judge", "answer"):
        method = method_of("trio", {k: list(v) for k, v in script.items()}, {f"{role}_adapter": False})
        await run_method(method)
        assert {c.role for c in method.tools.engine.calls if c.bare} == {role}
    method = method_of("trio", script)
    await run_method(method)
    assert not any(c.bare for c in method.tools.engine.calls)


async def test_a_bare_judge_is_the_zero_shot_one_with_its_threshold() -> None:
    script = {"judge": [{"text": "Insufficient Information", "p_sufficient": 0.45}], "answer": ["Delft"]}
    method = method_of("trio", script, {"judge_adapter": False})
    method.tools.engine.judge = JudgeAdapter(name="judge-3", threshold=0.9)
    method.tools = method.tools._replace(zero_shot=JudgeAdapter(threshold=0.4))
    events = await run_method(method)
    [verdict] = of(events, Verdict)
    assert (verdict.judged_by, verdict.label, verdict.threshold) == ("zero-shot", "sufficient", 0.4)
    assert [c.adapter for c in of(events, LLMCalled) if c.role == "judge"] == [None]


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5])
async def test_fixed_rounds_ask_no_judge(rounds: int) -> None:
    script = {"query": [f"query number {n}" for n in range(rounds)], "answer": ["Delft"]}
    method = method_of("trio", script, {"fixed_rounds": rounds})
    events = await run_method(method)
    assert len(of(events, Retrieved)) == rounds + 1 and not of(events, Verdict)
    assert (events[-1].reason, events[-1].totals.calls) == ("round_limit", rounds + 1)
    calls, searches = method.max_calls()
    assert events[-1].totals.calls <= calls == 2 * rounds + 1 and searches == rounds + 1


@pytest.mark.parametrize("settings", [{"fixed_rounds": 6}, {"noise": 6}, {"noise": -1}])
def test_switches_have_limits(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        method_of("trio", {}, settings)


@pytest.mark.parametrize("count", [1, 3])
async def test_noise_is_marked_in_the_trace(count: int) -> None:
    script = {"judge": [YES], "answer": ["Delft"]}
    method = method_of("trio", script, {"noise": count}, Ranked(1000))
    events = await run_method(method)
    [found] = of(events, Retrieved)
    noise = [h for h in found.hits if h.noise]
    assert len(noise) == count and {h.from_rank for h in noise} <= {998, 999, 1000}
    assert [h.rank for h in found.hits] == [1, 2, 3, 4, 5]
    assert all(h.passage.id == f"r{h.from_rank or h.rank}" for h in found.hits)
    assert f"{count} of 5 passages replaced" in found.note
    assert event_from_json(event_to_json(found)) == found
    prompt = of(events, LLMCalled)[0].messages[-1].content
    assert all(h.passage.text in prompt for h in noise), "the agents read the noise"


@given(size=st.integers(0, 30), k=st.integers(1, 10), count=st.integers(0, 5), seed=st.integers(0, 3))
async def test_noise_replaces_and_never_repeats(size: int, k: int, count: int, seed: int) -> None:
    results = [(await NoisyRetriever(Ranked(size), count, seed, depth=20).search(["q"], k))[0] for _ in range(2)]
    assert results[0] == results[1], "the seed decides"
    hits = results[0].hits
    beyond = max(0, min(size, 20) - k)
    assert len(hits) == min(k, size) and len({h.passage.id for h in hits}) == len(hits)
    assert sum(bool(h.noise) for h in hits) == min(count, len(hits), beyond)
    assert all(h.from_rank > k for h in hits if h.noise)


async def test_another_seed_gives_other_noise() -> None:
    async def found(seed: int) -> Sequence[str]:
        return [h.passage.id for h in (await NoisyRetriever(Ranked(1000), 3, seed).search(["q"], 5))[0].hits]

    assert len({tuple(await found(seed)) for seed in range(6)}) > 1


def test_every_method_that_searches_has_the_noise_test() -> None:
    without = [name for name, kind in METHODS.items() if not issubclass(kind.settings_type, SearchSettings)]
    assert without == ["no_retrieval"]


PLAN = "a fact -> Bea Cole born\nanother fact -> Delft city\nthird -> Alpha film\nfourth -> x y\nfifth -> z w"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
async def test_maps_has_one_to_five_directions(n: int) -> None:
    script = {"plan": [PLAN], "refine": ["Knowledge:\n- fact\nSummary: s"], "answer": ["Delft"]}
    method = method_of("maps", script, {"directions": n, "max_rounds": 1, "shadow_judge": False})
    events = await run_method(method)
    assert len(of(events, SubQueries)[0].queries) == len(of(events, Directions)[0].directions) == n
    assert method.max_calls() == (3, n)


async def test_maps_ablations() -> None:
    refined, queries = "Knowledge:\n- fact\nSummary: s", "Bea Cole born\nDelft city"
    script = {"plan": [PLAN] * 2, "sub_queries": [queries] * 2, "refine": [refined] * 2, "answer": ["Delft"]}

    async def run(**settings: Any) -> list[Any]:
        copy = {k: list(v) for k, v in script.items()}
        return await run_method(method_of("maps", copy, {"max_rounds": 2, "shadow_judge": False, **settings}))

    assert len(of(await run(parallel=False), SubQueries)[0].queries) == 1
    undirected = await run(list_directions=False)
    assert of(undirected, Directions)[0].directions == () and len(of(undirected, SubQueries)[0].queries) == 2
    apart, open_ = await run(), await run(disentangle=False)
    second = [[c for c in of(events, LLMCalled) if c.round == 2][0] for events in (apart, open_)]
    assert second[0].hidden and "Earlier searches" not in second[0].messages[-1].content
    assert not second[1].hidden and "Bea Cole born" in second[1].messages[-1].content


def test_effective_settings_stand_in_the_run(tmp_path: Any) -> None:
    """`--set` on the command line, and overrides of one run on top."""
    settings = load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}", "methods.trio.fixed_rounds=1", "methods.trio.noise=1"])
    bench = Workbench(settings, MemoryStore())
    try:
        bench.bring_up(wait=True)
        run_id = bench.start_run(RunRequest(question="Who directed Alpha?", method="trio", settings={"noise": 3, "query_adapter": False}))
        bench.wait_run(run_id)
        started, *events = bench.poll(run_id).events
        assert started.settings["fixed_rounds"] == 1 and started.settings["noise"] == 3
        assert started.index["noise"] == {"count": 3, "seed": 0} and "without" in started.models["query"]
        assert len(of(events, Retrieved)) <= 2 and not of(events, Verdict)
    finally:
        bench.close()


def test_settings_carry_their_help() -> None:
    for name, kind in METHODS.items():
        fields = kind.settings_type.model_fields
        assert [n for n, f in fields.items() if not f.description] == [], name
