"""Summaries by hand, and their tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.evaluation.helpers import row
from trio_core.evaluation.report import about, models_line, write_report
from trio_core.evaluation.report_tables import tables
from trio_core.evaluation.summary import by_question, summarize
from trio_core.evaluation.tables import Table, comma_separated, latex, markdown, table

ROWS = [
    row("a", "q1", "one", 1.0, repeat=0, type="bridge", hops=2, rounds=1, recall=(0.5,)), row("a", "q1", "one", 0.0, repeat=1, type="bridge", hops=2, rounds=3, recall=(0.5, 1.0)),
    row("a", "q2", "one", 1.0, type="comparison", hops=3, rounds=1, recall=(1.0,)), row("a", "q3", "two", 0.0, type="bridge", hops=2, status="failed", reason="E: down"),
    row("b", "q1", "one", 0.0, rounds=2), row("b", "q2", "one", 1.0, rounds=2), row("b", "q3", "two", 1.0, rounds=2), row("b", "q4", "two", 1.0, rounds=2),
]


def test_averages_take_repeats_first_and_failures_as_wrong() -> None:
    summary = summarize(ROWS, draws=50)
    a, b = summary.entrants
    # a: q1 = 1/2, q2 = 1, q3 = 0; sets: one 3/4, two 0. b: one 1/2, two 1.
    assert (a.micro["em"].mean, a.macro["em"].mean, b.micro["em"].mean, b.macro["em"].mean) == (0.5, 0.375, 0.75, 0.75)
    assert (a.questions, a.runs, a.failed, b.failed) == (3, 4, 1, 0) and summary.datasets == {"one": 2, "two": 2}
    assert a.by_dataset["one"]["em"].mean == 0.75 and a.by_dataset["two"]["em"].n == 1
    assert a.rounds == {1: 2, 3: 1} and a.reasons == {"judge": 3, "failed": 1} and a.costs["rounds"].mean == 1.5  # q1: 2, q2: 1
    assert {t: e.mean for t, e in a.by_type.items()} == {"bridge": 0.25, "comparison": 1.0} and {h: e.mean for h, e in a.by_hops.items()} == {2: 0.25, 3: 1.0}
    # after round 1: q1 1/2, q2 1; after round 2: q1 (1/2 + 1)/2, q2 keeps 1
    assert [e.mean for e in a.recall_by_round] == [0.75, 0.875] and b.recall_by_round == ()
    assert a.micro["recall_first"].mean == 0.75 and a.micro["recall_last"].mean == 0.875


def test_pairs_name_the_questions_that_differ() -> None:
    [pair] = summarize(ROWS, draws=50).pairs
    assert (pair.first, pair.second, pair.won, pair.lost) == ("a", "b", ("one/q1",), ("two/q3",))
    assert (pair.test.n, pair.test.wins, pair.test.losses, pair.test.ties) == (3, 1, 1, 1) and pair.test.mean == pytest.approx(-1 / 6)


def test_the_matrix_reads_both_ways() -> None:
    third = [row("c", f"q{n}", "one", float(n == 2)) for n in (1, 2)]
    [matrix] = [t for t in tables(summarize([*ROWS, *third], draws=10)) if t.title.startswith("Wins")]
    assert matrix.rows == (("a", "", "1 : 1", "1 : 0"), ("b", "1 : 1", "", "0 : 0"), ("c", "0 : 1", "0 : 0", ""))


def test_rows_without_gold_have_no_part_in_a_metric() -> None:
    assert by_question([row(em=None), row(question="q2", em=0.0)], lambda r: r.scores.get("em")) == {("d", "q2"): 0.0}
    summary = summarize([row(em=None)], draws=10)
    assert summary.entrants[0].micro == {} and tables(summary)[0].rows == (("trio", "1", "0"),)
    assert summarize([]).entrants == () and tables(summarize([]))[0].rows == ()


NASTY = table("A & B_c", ["m|x", "v"], [["<b>*x*</b> [l](u) _y_ a_b|c\nd", "=1+1"], ["50% $\\{#}~^", "-0.5 [-1, 2]"]], note="100 %")


def test_markdown_is_escaped() -> None:
    text = markdown(NASTY)
    assert "| &lt;b&gt;\\*x\\*&lt;/b&gt; [l]\\(u) \\_y\\_ a_b\\|c d | =1+1 |" in text and text.startswith("## A &amp; B_c\n\n| m\\|x | v |\n|---|---|\n")


def test_csv_reads_back_and_hides_no_formula() -> None:
    back = list(csv.reader(io.StringIO(comma_separated(NASTY))))
    assert back == [["m|x", "v"], ["<b>*x*</b> [l](u) _y_ a_b|c\nd", "'=1+1"], ["50% $\\{#}~^", "-0.5 [-1, 2]"]]


def test_latex_is_escaped() -> None:
    text = latex(NASTY)
    assert r"50\% \$\textbackslash{}\{\#\}\textasciitilde{}\textasciicircum{} & -0.5 [-1, 2] \\" in text
    assert r"\textless{}b\textgreater{}*x*" in text and r"a\_b\textbar{}c d" in text and r"\caption{A \& B\_c}" in text and text.count(r"\\") == 3


@pytest.mark.parametrize(("models", "line"), [
    ({}, ""),
    ({"query": "m", "answer": "m"}, "all roles: m"),
    ({"query": "m", "judge": "m + judge-3", "answer": "m"}, "query, answer: m; judge: m + judge-3"),
])
def test_each_model_is_named_once(models: dict[str, str], line: str) -> None:
    assert models_line(models) == line


def test_the_report_says_how_it_came_about(tmp_path: Path) -> None:
    facts = about("python -m trio_core evaluate --x", "eval-9", "scripted", models={"judge": "m"}, dataset="4 questions", seed="7")
    text = write_report(tmp_path, summarize(ROWS, draws=20), facts)
    assert {p.name for p in tmp_path.iterdir()} == {"summary.md", "summary.json", "table.csv", "table.tex"} and (tmp_path / "summary.md").read_text() == text
    for part in ("python -m trio_core evaluate --x", "eval-9", facts.date, "numpy", "n = 4 questions (one 2, two 2)", "micro-average", "macro-average", "Answers, two (n = 2)"):
        assert part in text
    data = json.loads((tmp_path / "summary.json").read_text())
    assert data["about"]["seed"] == "7" and data["summary"]["pairs"][0]["won"] == ["one/q1"]
    assert isinstance(tables(summarize(ROWS, draws=20))[0], Table)
