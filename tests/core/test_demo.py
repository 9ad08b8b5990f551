"""The demo corpus: its size, its form, and that each gold passage holds what its hop needs."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources

import pytest

from trio_core import demo
from trio_core.demo.recorded import recorded


@lru_cache
def passages() -> dict[str, str]:
    folder = resources.files("trio_core.demo").joinpath("corpus")
    lines = [line for f in folder.iterdir() if f.name.endswith(".jsonl") for line in f.read_text(encoding="utf-8").split("\n") if line]
    rows = [json.loads(line) for line in lines]
    assert len({r["id"] for r in rows}) == len(rows), "ids are unique"
    return {r["id"]: r["contents"] for r in rows}


def test_passages_have_a_title_and_40_to_100_words() -> None:
    corpus = passages()
    assert len(corpus) >= 300
    titles = [text.split("\n", 1)[0] for text in corpus.values()]
    assert len(set(titles)) == len(titles) and all(t.startswith('"') and t.endswith('"') for t in titles)
    assert [i for i, text in corpus.items() if not 40 <= len(text.split("\n", 1)[1].split()) <= 100] == []


def test_questions_of_every_kind() -> None:
    asked = demo.questions()
    answerable = [q for q in asked if q.answerable]
    assert len(answerable) >= 60 and len(asked) - len(answerable) >= 10
    assert {q.type for q in answerable} == {"bridge", "comparison", "compositional", "bridge_comparison", "multi_hop"}
    assert all(len(q.hops) >= 3 for q in asked if q.type == "multi_hop" and q.answerable)
    assert len({q.id for q in asked}) == len(asked) and len({q.question for q in asked}) == len(asked)


@pytest.mark.parametrize("question", demo.questions(), ids=lambda q: q.id)
def test_each_gold_passage_holds_what_its_hop_needs(question: demo.DemoQuestion) -> None:
    corpus = passages()
    for hop in question.hops:
        text = corpus[hop.passage_id].lower()
        assert hop.evidence and all(words.lower() in text for words in hop.evidence), hop.passage_id
    assert bool(question.answers) == question.answerable
    assert question.answerable or question.missing
    if question.type in ("bridge", "compositional", "multi_hop") and question.answerable:
        named = re.search(rf"\b{re.escape(question.hops[0].answer)}\b", question.question, re.IGNORECASE)
        assert not named, "the bridge must not be named"


def test_a_typed_example_is_recognised() -> None:
    first = demo.questions()[0]
    assert demo.find("  " + first.question.upper()) == first and demo.find("Who?") is None


def test_recorded_runs_are_whole_and_marked() -> None:
    runs = recorded()
    assert {r.method for r, _ in runs} == {"trio", "maps"} and all(r.origin == "recorded" for r, _ in runs)
    for request, events in runs:
        assert [e.seq for e in events] == list(range(len(events))) and events[-1].type == "run_finished", request.question
        assert all(e.model != "scripted" for e in events if e.type == "llm_called"), "only a real model is recorded"
