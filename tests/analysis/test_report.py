"""Selections, sections, files, the command, the reproduction report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import Store, open_store
from tests.analysis.helpers import R, facts, fill
from trio_core.__main__ import main
from trio_core.analysis.published import published
from trio_core.analysis.report import KEYS, analyse, csv_of, markdown_of
from trio_core.analysis.reproduction import comparisons, dataset_name
from trio_core.analysis.source import Selection, chosen, evaluation_id, facts_of
from trio_core.analysis.vectors import Vectors
from trio_core.errors import InputError
from trio_core.retrieval.models import HashedWords


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'trioscope.db'}")
    fill(opened)
    yield opened
    opened.close()


def test_selections(store: Store, tmp_path: Path) -> None:
    assert len(chosen(store, Selection())) == len(chosen(store, Selection(evaluations=("eval-a",)))) == 18
    maps = chosen(store, Selection(methods=("maps",), search="number 3"))
    assert [i.method for i in maps] == ["maps"]
    assert chosen(store, Selection(runs=(maps[0].id,))) == maps
    assert len(chosen(store, Selection(limit=4))) == 4 and chosen(store, Selection(dataset="nq")) == []
    for wrong in (Selection(runs=("nope",)), Selection(evaluations=("nope",))):
        with pytest.raises(InputError, match="nope"):
            chosen(store, wrong)
    (tmp_path / "evaluation.json").write_text('{"id": "eval-a"}')
    assert evaluation_id(str(tmp_path)) == evaluation_id("eval-a") == "eval-a"
    with pytest.raises(InputError, match="no evaluation's folder"):
        evaluation_id(str(tmp_path.parent))


def test_all_sections_have_figures_that_open_their_runs(store: Store) -> None:
    runs = list(facts_of(store, chosen(store, Selection())))
    whole = analyse(runs, Vectors(HashedWords("", "")))
    made = {s.key: s for s in whole.sections}
    assert tuple(made) == KEYS
    assert [key for key, s in made.items() if not s.sheets] == ["noise"] and "noise=1" in made["noise"].empty
    known = {r.id for r in runs}
    cells = [c for s in whole.sections for sheet in s.sheets for row in sheet.rows for c in row if c.runs]
    assert cells and all(set(c.runs) <= known for c in cells)
    assert all(len(row) == len(sheet.header) for s in whole.sections for sheet in s.sheets for row in sheet.rows)
    opened = whole.behind("stopping.0.2")
    assert opened is not None and set(opened.runs) == {r.id for r in runs if r.method == "maps"}
    point = whole.behind("stopping-0.0.2")
    assert point is not None and point.title == "After how many rounds runs stop: maps (mean 3.0), search rounds 3"
    assert [whole.behind(key) for key in ("", "stopping", "stopping.9.0", "x.0.0", "stopping.-1.0", "stopping.0.0.0")] == [None] * 6
    assert "random steps" in made["momentum"].about[0] or "at random" in made["momentum"].about[0]
    assert any("no alarm for drift" in text for text in made["momentum"].about)


def test_without_an_encoder_the_rest_stands(store: Store) -> None:
    runs = list(facts_of(store, chosen(store, Selection())))
    plain = analyse(runs)
    assert {s.key for s in plain.sections if "not embedded" in s.empty} == {"similarity", "momentum"} and plain.encoder == ""
    assert [s.key for s in analyse(runs, only=["gain", "stopping"]).sections] == ["stopping", "gain"]
    assert markdown_of(analyse([])).count("# ") and csv_of(analyse([])) == ""


def test_published_figures_stand_beside_ours() -> None:
    own = [
        facts((R(("x",), ("a",)),), f"r{n}", dataset="musique_ans_v1.0_dev.sample", question_id=f"q{n}", em=float(n == 0)) for n in range(4)
    ]
    found = [c for c in comparisons(own) if c.ours.value is not None]
    assert {(c.published.method, c.published.variant, c.published.dataset, c.published.value) for c in found} >= {
        ("trio", "TRIO-8B", "musique", 0.1857)
    }
    assert all(
        c.published.table in ("main results",) and c.ours.value == 0.25 and c.paper_n == 2417 for c in found if c.published.metric == "em"
    )
    assert any("questions: 4 of 2,417" in why for why in found[0].why) and "60 passages here" in " ".join(found[0].why)
    fixed = [r.model_copy(update={"settings": {"fixed_rounds": 2}}) for r in own]
    assert {(c.published.setting, c.published.setting_value) for c in comparisons(fixed) if c.ours.value is not None} == {
        ("fixed_rounds", "2")
    }
    assert (
        len(published().figures) > 140 and dataset_name("hotpot_dev_distractor_v1.sample") == "hotpotqa" and dataset_name("demo") == "demo"
    )


def test_the_command(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["analyse", "--profile", "scripted", "--set", f"data_dir={tmp_path}", "--set", "retriever.encoder=hashed-words"]
    assert main([*base, "--evaluation", "eval-a", "--out", str(tmp_path / "out")]) == 0
    assert "# Stopping rounds" in capsys.readouterr().out
    files = {p.name for p in (tmp_path / "out").iterdir()}
    assert {
        "analysis.md",
        "analysis.json",
        "reproduction.md",
        "stopping.csv",
        "judge_rounds.csv",
        "fixed_rounds.csv",
        "alignment.csv",
    } <= files
    assert main([*base, "--method", "maps", "--only", "stopping", "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["runs"] == 6 and [s["key"] for s in body["sections"]] == ["stopping"]
    assert main([*base, "--only", "stopping", "--format", "csv", "--no-encoder"]) == 0
    assert "method,runs,mean,1,2,3" in capsys.readouterr().out
    for wrong, said in (
        (["--only", "nope"], "no analysis"),
        (["--run", "nope"], "does not exist"),
        (["--dataset", "nq"], "no run that has ended"),
        (["--limit", "0"], "--limit"),
    ):
        assert main([*base, *wrong]) == 2
        assert said in capsys.readouterr().err
