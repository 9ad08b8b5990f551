"""RQ-RAG against scripts: the tree, what a branch may not see, three ways to choose, engines without log-probabilities."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.core.helpers import ListRetriever, method_of, of, run_method
from trio_core.events import Answered, Knowledge, LLMCalled, RunFailed, SubQueries
from trio_core.methods.rq_rag import Node, choose
from trio_core.values import Capabilities

SCRIPT: dict[str, Any] = {
    "rewrite": ["Alpha director birthplace"],
    "decompose": ["Alpha director"],
    "disambiguate": ["Alpha film director"],
    "respond": [{"text": t, "mean_logprob": p} for t, p in [("Oslo", -2.0), ("Delft", -0.1), ("Oslo", -0.5), ("the Oslo", -0.9)]],
}


async def ask(settings: dict[str, Any] | None = None, retriever: Any = None, **changes: Any) -> list[Any]:
    return await run_method(method_of("rq_rag", SCRIPT | changes, {"depth": 1, **(settings or {})}, retriever))


async def test_one_level_has_three_searches_and_four_answers() -> None:
    events = await ask()
    assert [c.role for c in of(events, LLMCalled)] == ["rewrite", "decompose", "disambiguate"] + ["respond"] * 4
    assert [q.direction for q in of(events, SubQueries)[0].queries] == ["rewrite", "decompose", "disambiguate"]
    found = of(events, Knowledge)
    assert [(k.branch, k.summary, k.chosen) for k in found] == [
        ("no search", "Oslo", False),
        ("rewrite", "Delft", True),
        ("decompose", "Oslo", False),
        ("disambiguate", "the Oslo", False),
    ]
    assert found[1].score == pytest.approx(math.exp(-0.1)) and of(events, Answered)[0].answer == "Delft"


@pytest.mark.parametrize(("depth", "answers", "searches"), [(1, 4, 3), (2, 13, 12), (3, 40, 39)])
def test_size_of_the_tree(depth: int, answers: int, searches: int) -> None:
    assert method_of("rq_rag", {}, {"depth": depth}).max_calls() == (answers + searches, searches)


async def test_a_branch_sees_only_its_own_path() -> None:
    retriever = ListRetriever({"Alpha director birthplace": ["p1"], "Alpha director": ["p2"], "Alpha film director": ["p3"]})
    calls = of(await ask(retriever=retriever), LLMCalled)
    root, rewrite = calls[3], calls[4]
    assert "(none)" in root.messages[-1].content and "directed by" not in root.messages[-1].content
    assert "directed by Bea Cole" in rewrite.messages[-1].content and "born in Delft" not in rewrite.messages[-1].content
    assert rewrite.branch == "rewrite" and rewrite.hidden[0].count == 2 and root.hidden[0].count == 3


async def test_the_second_level_goes_on_from_each_branch() -> None:
    queries = {kind: [f"{kind} {i}" for i in range(4)] for kind in ("rewrite", "decompose", "disambiguate")}
    respond = [{"text": f"a{i}", "mean_logprob": -1.0 - i} for i in range(13)]
    events = await ask({"depth": 2}, respond=respond, **queries)
    assert [len(e.queries) for e in of(events, SubQueries)] == [3, 9] and events[-1].totals.retrievals == 12
    second = next(c for c in of(events, LLMCalled) if c.round == 2 and c.branch == "rewrite / decompose")
    assert "rewrite 0" in second.messages[-1].content and "decompose 0" not in second.messages[-1].content
    assert [k.branch for k in of(events, Knowledge) if k.chosen] == ["no search", "no search"], (
        "an earlier node that still wins says so again"
    )


async def test_a_branch_without_a_new_query_ends() -> None:
    events = await ask(
        {"depth": 2}, rewrite=["x y", "x y"], decompose=["", ""], disambiguate=["<think>", ""], respond=SCRIPT["respond"][:2]
    )
    assert events[-1].reason == "no_query" and (events[-1].totals.retrievals, of(events, Answered)[0].answer) == (1, "Delft")


def test_the_three_ways_to_choose() -> None:
    nodes = [
        Node(path=p, answer=a, confidence=c)
        for p, a, c in [("1", "Delft", 0.9), ("2", "Oslo", 0.5), ("3", "the Oslo", 0.6), ("4", "", 1.0)]
    ]
    assert [getattr(choose(nodes, rule), "path", None) for rule in ("confidence", "ensemble", "vote")] == ["1", "2", "2"]
    assert choose([nodes[3]], "vote") is None


async def test_without_log_probabilities_it_says_what_to_set() -> None:
    async def probe() -> Capabilities:
        return Capabilities(model="m", logprobs=False)

    method = method_of("rq_rag", SCRIPT, {"depth": 1})
    method.tools.engine.probe = probe
    end = (await run_method(method))[-1]
    assert isinstance(end, RunFailed) and "select = vote" in end.message and end.acts == "user"
    voting = method_of("rq_rag", SCRIPT, {"depth": 1, "select": "vote"})
    voting.tools.engine.probe = probe
    assert of(await run_method(voting), Answered)[0].answer == "Oslo"
