"""Which questions two entrants differ on, which rows a figure stands for, and which files a page may open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.helpers import row
from trio_core.errors import InputError
from trio_core.evaluation.differences import Chosen, differences
from trio_core.evaluation.places import allowed, corpus_files, question_files, shown
from trio_core.evaluation.summary import summarize
from trio_core.settings import Settings

ROWS = [
    row("a", "q1", em=1.0, run_id="a1", answer="x"), row("b", "q1", em=0.0, run_id="b1", status="failed", reason="EngineError: gone"),
    row("a", "q2", em=0.0, run_id="a2"), row("b", "q2", em=1.0, run_id="b2"),
    row("a", "q3", em=1.0, run_id="a3"), row("b", "q3", em=1.0, run_id="b3"),
    row("a", "q4", em=1.0, run_id="a4", repeat=0), row("a", "q4", em=0.0, run_id="a5", repeat=1), row("b", "q4", em=0.0, run_id="b4"),
    row("a", "q5", em=1.0, run_id="a6"), row("b", "q6", em=None), row("a", "q6", em=1.0),
]


def test_differing_questions_with_their_runs() -> None:
    found = differences(ROWS, "a", "b", "em")
    assert [(d.question_id, d.side, d.first, d.second) for d in found] == [("q1", "won", 1.0, 0.0), ("q4", "won", 0.5, 0.0), ("q2", "lost", 0.0, 1.0)]
    assert (found[1].first_runs, found[1].second_runs) == (("a4", "a5"), ("b4",))
    assert (found[0].first_answer, found[0].second_answer) == ("x", "failed: EngineError: gone")
    assert [d.side for d in differences(ROWS, "b", "a", "em")] == ["won", "lost", "lost"]


def test_they_are_the_summary_s_wins_and_losses() -> None:
    (pair,) = summarize(ROWS, draws=10).pairs
    found = differences(ROWS, "a", "b", "em")
    assert {f"{d.dataset}/{d.question_id}" for d in found if d.side == "won"} == set(pair.won)
    assert {f"{d.dataset}/{d.question_id}" for d in found if d.side == "lost"} == set(pair.lost)


def test_the_rows_behind_a_figure() -> None:
    some = [row("a", "1", rounds=2, type="bridge", hops=2), row("a", "2", rounds=2, status="failed"), row("b", "3", rounds=2, dataset="e")]
    def ids(chosen: Chosen) -> list[str]:
        return [r.question_id for r in some if chosen.fits(r)]
    assert ids(Chosen(rounds=2)) == ["1", "3"] and ids(Chosen(label="a", failed=True)) == ["2"] and ids(Chosen(failed=False, dataset="e")) == ["3"]
    assert ids(Chosen(type="bridge")) == ids(Chosen(hops=2)) == ["1"] and ids(Chosen()) == ["1", "2", "3"]


def test_only_the_named_folders_can_be_opened(tmp_path: Path) -> None:
    sets, other, data = tmp_path / "sets", tmp_path / "other", tmp_path / "data"
    for folder in (sets / "hotpot", other, data / "datasets"):
        folder.mkdir(parents=True)
    for path in (sets / "hotpot" / "dev.json", sets / "hotpot" / "corpus.jsonl.gz", sets / "id_aliases.json", sets / "notes.txt", other / "secret.json",
                 data / "datasets" / "mine.jsonl"):
        path.write_text("[]")
    (sets / "link.json").symlink_to(other / "secret.json")
    settings = Settings(data_dir=data, data_folders=(sets,))
    assert question_files(settings) == ["demo", "mine.jsonl", "link.json", "hotpot/dev.json"] and corpus_files(settings) == ["demo", "hotpot/corpus.jsonl.gz"]
    real = allowed("hotpot/dev.json", settings)
    assert real == str((sets / "hotpot" / "dev.json").resolve()) == allowed(real, settings) and shown(real, settings) == "hotpot/dev.json"
    assert allowed(" demo ", settings) == "demo" == shown("demo", settings)
    for bad in ("link.json", "../other/secret.json", str(other / "secret.json"), "nothing.json", "", "a\x00b", "/"):
        with pytest.raises(InputError):
            allowed(bad, settings)
