"""What the renderers make of rounds and runs."""

from __future__ import annotations

import pytest

from tests.ui.traces import call, events_of, failed, finished, info, numbered, passage
from trio_core.events import (
    BaseEvent,
    Hidden,
    Knowledge,
    Retrieved,
    RetrievedHit,
    RoundStarted,
    RunStarted,
    StateSaved,
    SubQueries,
    Verdict,
)
from trio_core.trace import Trace, trace_of
from trio_core.values import Gold, Hit, JudgeItem, PoolEntry, SubQuery
from ui.render.base import plural, seconds
from ui.render.chunks import best_first, chunks_html, merged, token
from ui.render.progress import live_html, step_words
from ui.render.round import query_offset, round_html
from ui.render.runs import Filter, runs_html
from ui.render.state import sources, state_html
from ui.render.summary import Standing, summary_html
from ui.render.verdict import gold_hint, verdict_html


def found(index: int, *ids_scores: tuple[str, float | None], round_: int = 1, seen: int = 1) -> Retrieved:
    hits = tuple(RetrievedHit(passage=passage("text", i), score=s, rank=n, first_seen_round=seen) for n, (i, s) in enumerate(ids_scores, 1))
    return Retrieved(round=round_, query_index=index, query=f"q{index}", hits=hits, k=5)


def trace(*events: BaseEvent, gold: Gold | None = None) -> Trace:
    return trace_of(numbered([RunStarted(question="Q?", method="trio", gold=gold), *events]))


def verdict(label: str, p: float | None, ids: tuple[str, ...] = ("a",), **more: object) -> Verdict:
    pool = (PoolEntry(query="q", hits=tuple(Hit(passage=passage("t", i), score=1.0, rank=1) for i in ids)),)
    return Verdict(round=1, label=label, p_sufficient=p, item=JudgeItem(question="Q?", pool=pool, messages=()), **more)  # type: ignore[arg-type]


def test_an_unknown_event_has_no_place_in_a_round() -> None:
    class Strange(BaseEvent):
        type: str = "strange"

    view = trace(RoundStarted(round=1))
    with pytest.raises(TypeError, match="Strange"):
        view.add(Strange(seq=9))


def test_a_passage_of_several_queries_is_shown_once_with_all_finders() -> None:
    html = chunks_html(trace(RoundStarted(round=1), found(0, ("a", 0.5), ("b", 0.4)), found(1, ("b", 0.9))).rounds[0], 0, frozenset({"a"}))
    assert html.count('class="ch"') == 2
    assert "by 1, 2" in html and html.count(">gold<") == 1
    assert html.index(token("b")) < html.index(token("a"))
    assert "2 new · 1 found more than once" in html


def test_passages_without_scores_keep_their_rank() -> None:
    assert [f.hit.passage.id for f in merged([found(0, ("a", None), ("b", None))], 0)] == ["a", "b"]


def test_passages_of_an_earlier_round_say_so() -> None:
    html = chunks_html(trace(RoundStarted(round=2), found(0, ("a", 1.0), round_=2, seen=1)).rounds[0], 0, frozenset())
    assert "seen in round 1" in html and "0 new · 1 seen before" in html


def test_the_sentence_that_fits_the_query_comes_first() -> None:
    text = "He liked cats. Curtiz was born in Budapest. He died in 1962."
    assert best_first(text, "where was Curtiz born") == "… Curtiz was born in Budapest. He died in 1962."
    assert best_first(text, "nothing of it") == text


def test_pool_queries_are_numbered_over_rounds() -> None:
    ask = (SubQueries(round=1, queries=(SubQuery(text="one"),)), SubQueries(round=2, queries=(SubQuery(text="two"),)))
    view = trace(RoundStarted(round=1), ask[0], RoundStarted(round=2), ask[1])
    assert query_offset(view, view.rounds[1]) == 1
    assert 'data-q="2"' in round_html(view, view.rounds[1], "r")


@pytest.mark.parametrize(
    ("label", "p", "words"), [("sufficient", 0.8, "Sufficient"), ("insufficient", 0.1, "Insufficient"), ("unparsed", None, "Unparsed")]
)
def test_a_verdict_is_a_word_and_a_shape(label: str, p: float | None, words: str) -> None:
    html = verdict_html(verdict(label, p), None, "fix")
    assert words in html and ('role="img"' in html) == (p is not None)
    assert p is not None or "no probability" in html


def test_a_shadow_judge_is_called_one() -> None:
    assert "shadow judge" in verdict_html(verdict("sufficient", 0.8, deciding=False), None, "fix")


@pytest.mark.parametrize(
    ("gold", "hint"),
    [
        (None, ""), (Gold(passage_ids=("a",)), "gold: all 1 passages found"), (Gold(passage_ids=("a", "z")), "gold: 1 of 2 passages missing"),
        (Gold(answerable=False), "gold: the corpus does not hold the answer"), (Gold(), ""),
    ],
)
def test_gold_hints(gold: Gold | None, hint: str) -> None:
    assert gold_hint(verdict("sufficient", 0.8), gold) == hint


def test_state_says_what_is_hidden_and_what_it_saves() -> None:
    saved = StateSaved(round=1, state={"knowledge": ["Fact."], "history": []}, tokens=96, hidden=(Hidden(what="passages", count=11, tokens=2384),))
    html = state_html(trace(RoundStarted(round=1), saved).rounds[0], 0)
    assert "96 tokens, was 2,480" in html and "11 passages" in html


def test_branches_say_what_came_of_each_and_which_was_chosen() -> None:
    events: list[BaseEvent] = [RoundStarted(round=1)]
    events += [call("x", "support").model_copy(update={"branch": "(a) Delft"}), Knowledge(round=1, branch="(a) Delft", summary="w" * 200, score=0.75, chosen=True)]
    events += [Knowledge(round=1, branch="(b) Oslo", notes=("does not hold up",), score=0.25, chosen=False)]
    view = trace(*events)
    html = round_html(view, view.rounds[0], "r")
    assert "2 branches, 1 chosen" in html and "score 0.75 · 1 call<" in html and "score 0.25 · 0 calls" in html and "does not hold up" in html
    assert html.count(">chosen<") == 1 and "w" * 89 + "…" in html and html.count("(a) Delft") == 2, "at the branch and at its call"
    assert view.rounds[0].knowledge is None


@pytest.mark.parametrize(("state", "shown"), [
    ({"thoughts": ["Alpha is by Bea Cole."]}, "Alpha is by Bea Cole."), ({"turns": [{"role": "assistant", "content": "I search."}]}, "assistant: I search."),
    ({"done": [{"task": "Who?", "answer": "Bea"}]}, "Who? → Bea"), ({"nodes": [{"path": "rewrite", "answer": ""}]}, "rewrite: no answer"),
])
def test_other_methods_states_are_shown_as_lines(state: dict[str, object], shown: str) -> None:
    html = state_html(trace(RoundStarted(round=1), StateSaved(round=1, state=state, tokens=5)).rounds[0], 0)
    assert shown in html and "Query pool" not in html


def test_a_pool_hides_nothing() -> None:
    hit = {"passage": {"id": "a", "title": "", "text": ""}}
    saved = StateSaved(round=1, state={"pool": [{"query": "q", "hits": [hit]}, {"query": "r", "hits": [hit]}]}, tokens=5)
    html = state_html(trace(RoundStarted(round=1), saved).rounds[0], 0)
    assert "2 queries, 2 chunks (1 different)" in html and "Nothing is hidden" in html


def test_knowledge_is_traced_to_the_passages_that_hold_its_words() -> None:
    shelf = [("p1", frozenset({"curtiz", "directed", "casablanca"})), ("p2", frozenset({"curtiz"}))]
    assert sources("Curtiz directed Casablanca", shelf) == "p1"
    assert sources("the of and", shelf) == ""


@pytest.mark.parametrize("status", ["queued", "running", "stopping", "finished", "failed", "stopped", "interrupted"])
def test_every_state_says_in_words_what_it_is(status: str) -> None:
    view = failed("x") if status in ("failed", "stopped", "interrupted") else finished("x") if status == "finished" else trace()
    html = summary_html(view, Standing(info("x", status), "TRIO", status, waiting=2))  # type: ignore[arg-type]
    word = "live" if status == "running" else status
    assert f">{word}<" in html
    assert (">Continue<" in html) == (status in ("failed", "stopped", "interrupted"))
    assert status != "queued" or "2 runs ahead" in html


def test_a_failure_says_whose_turn_it_is() -> None:
    end = failed("x")
    assert end.end is not None
    end.end = end.end.model_copy(update={"acts": "server", "message": "nothing answers at http://h"})
    assert "operator acts" in summary_html(end, Standing(info("x", "failed"), "TRIO", "failed"))


def test_steps_follow_what_a_round_has() -> None:
    started = RunStarted(question="Q?", method="trio", models={"query": "m", "judge": "m"})
    events: list[BaseEvent] = [started, RoundStarted(round=1)]
    assert step_words(trace_of(numbered(events)), None) == "writing the next query"
    events.append(SubQueries(round=1, queries=(SubQuery(text="q"),)))
    assert step_words(trace_of(numbered(events)), None) == "searching for 1 query"
    events.append(found(0, ("a", 1.0)))
    assert step_words(trace_of(numbered(events)), None) == "judging the evidence"
    assert "Judging the evidence" in live_html(trace_of(numbered(events)), None, "running")


def test_an_unfinished_round_of_an_ended_run_is_called_so() -> None:
    view = failed("x")
    view.rounds[0].state = None
    assert "This round was not finished." in round_html(view, view.rounds[0], "r")


def test_an_empty_list_says_what_to_do() -> None:
    assert "No runs yet" in runs_html([], 0, Filter()) and "Explore" in runs_html([], 0, Filter())
    assert "Show all runs" in runs_html([], 0, Filter(search="zz"))


def test_pages_of_runs_keep_the_filter() -> None:
    html = runs_html([info("x")], 60, Filter(search="a b", page=2))
    assert 'href="./runs?search=a+b"' in html and 'href="./runs?search=a+b&amp;page=3"' in html and "page 2 of 3" in html


def test_words_for_numbers() -> None:
    assert (plural(1, "call"), plural(1200, "query", "queries")) == ("1 call", "1,200 queries")
    assert (seconds(9.44), seconds(125)) == ("9.4 s", "2 min 05 s")


def test_all_events_of_a_run_are_rendered() -> None:
    assert len(events_of("x")) > 10
    assert "Round 1" in round_html(finished("x"), finished("x").rounds[0], "r")
