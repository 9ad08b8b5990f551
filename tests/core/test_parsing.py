"""Good, sloppy and hopeless model output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_core.parsing import (
    parse_answer,
    parse_plan,
    parse_queries,
    parse_query,
    parse_refine,
    parse_verdict,
    same_query,
)


@pytest.mark.parametrize(("text", "label"), [
    ("Sufficient Information", "sufficient"), ("Insufficient Information.", "insufficient"), ("insufficient information", "insufficient"),
    ("**Sufficient Information**", "sufficient"), ("not Sufficient Information", "insufficient"), ("Sufficient", "sufficient"),
    ("The text says Sufficient Information, but the date is missing.\nInsufficient Information", "insufficient"),
    ("<think>Insufficient Information?</think>Sufficient Information", "sufficient"),
    ("", "unparsed"), ("Suff", "unparsed"), ('{"verdict":"Suff', "unparsed"), ("Maybe", "unparsed"), ("self-sufficient town", "unparsed"),
    ("<think>Sufficient Information", "unparsed"),
])
def test_verdicts(text: str, label: str) -> None:
    assert parse_verdict(text).value == label


@pytest.mark.parametrize(("text", "query", "status"), [
    ("Bea Cole birthplace", "Bea Cole birthplace", "ok"), ('1. "Bea Cole birthplace"', "Bea Cole birthplace", "ok"),
    ("Query: Bea Cole birthplace", "Bea Cole birthplace", "ok"), ("- Bea Cole\n- Delft", "Bea Cole", "repaired"),
    ('```json\n["Bea Cole", "Delft"]\n```', "Bea Cole", "repaired"), ("so I search</think>\nBea Cole", "Bea Cole", "ok"),
    ("word " * 40, " ".join(["word"] * 16), "repaired"), ("", "", "failed"), ("<think>Bea", "", "failed"), ("...", "", "failed"),
])
def test_one_query(text: str, query: str, status: str) -> None:
    parsed = parse_query(text)
    assert (parsed.value, parsed.status) == (query, status)


def test_queries_that_say_the_same_count_once() -> None:
    assert parse_queries("Who wrote Dune?\nwho wrote dune\nHerbert born").value == ["Who wrote Dune?", "Herbert born"]
    assert same_query("Who wrote Dune?", "who wrote  dune") and not same_query("Dune", "Dune 2")


def test_plan_lines_json_and_enough() -> None:
    assert parse_plan("1. Director -> Alpha director\n2. Birth → Bea Cole born", 3).value.steps == [
        ("Director", "Alpha director"), ("Birth", "Bea Cole born")]
    assert parse_plan('[{"direction": "Director", "query": "Alpha director"}]', 3).value.steps == [("Director", "Alpha director")]
    assert parse_plan("ENOUGH", 3).value.enough and parse_plan("**Enough.**", 3).value.enough
    assert not parse_plan("enough money in film -> Alpha budget", 3).value.enough
    assert parse_plan("a -> b\nc -> d", 1).status == "repaired"
    assert parse_plan("", 3).status == "failed"
    assert parse_plan("- nothing yet\nbirthplace -> Bea Cole birthplace", 3).value.steps == [("birthplace", "Bea Cole birthplace")]
    chain = parse_plan("composer -> Tosca composer -> Giuseppe Verdi -> Rome", 3)
    assert (chain.value.steps, chain.status) == ([("composer", "Tosca composer")], "repaired")


def test_refine_sections() -> None:
    full = parse_refine("Knowledge:\n- Alpha is by Bea Cole.\n- none\nSummary: The birthplace is missing.")
    assert full.value == (["Alpha is by Bea Cole."], "The birthplace is missing.") and full.status == "ok"
    assert parse_refine("Knowledge: none\nSummary: nothing").value == ([], "")
    assert parse_refine("Alpha is by Bea Cole.").status == "repaired"
    assert parse_refine("").status == "failed"


@pytest.mark.parametrize(("text", "finish", "answer"), [
    ("Delft", "stop", "Delft"), ('Answer: "Delft".', "stop", "Delft"), ("The answer is Delft.", "stop", "Delft"), ("Washington D.C.", "stop", "Washington D.C."),
    ("so it is Delft</think>\n\nDelft", "stop", "Delft"), ("<think>The capital of Fra", "length", ""), ("", "length", ""),
    ("<answer>A</answer> no: <answer>B</answer>", "stop", "B"), ("<answer>A", "stop", ""), ("Delft\n\nBecause she was born there.", "stop", "Delft"),
    ("Answer:\nDelft", "stop", "Delft"), ("Yes", "stop", "Yes"),
])
def test_answers(text: str, finish: str, answer: str) -> None:
    assert parse_answer(text, finish).value == answer


def test_an_empty_cut_output_says_why() -> None:
    assert "token limit" in parse_answer("", "length").note


@given(st.text(max_size=200))
def test_no_parser_raises_and_no_verdict_is_made_up(text: str) -> None:
    for parse in (parse_query, parse_queries, parse_refine, parse_answer):
        parse(text)
    parse_plan(text, 3)
    if "sufficient" not in text.lower():
        assert parse_verdict(text).value == "unparsed"


@given(st.lists(st.from_regex(r"[a-z]{3,8}( [a-z]{3,8}){0,4}", fullmatch=True), min_size=1, max_size=5, unique=True))
def test_numbered_lists_come_back_whole(queries: list[str]) -> None:
    text = "\n".join(f"{n}. {q}" for n, q in enumerate(queries, 1))
    kept = [q for q in queries if not q.startswith(("query", "question", "keyword"))]
    assert [q for q in parse_queries(text).value if q in kept] == kept
