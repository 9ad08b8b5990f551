"""Rows of one difficulty, label or outcome: exactly those, in order, also of files that grow, are made anew or are damaged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.values import BinaryLabel
from tests.training.pipeline.folder import make_run
from tests.ui.judging_helpers import EVIL
from training.pipeline import facets as module
from training.pipeline import records
from training.pipeline.answer import Rollout
from training.pipeline.browse import open_run
from training.pipeline.data import DIFFICULTY, FILES, REWARD, DataFile, files_of, read_data
from training.pipeline.facets import read_facet
from training.pipeline.judge import TRAIN
from training.pipeline.query import ScoredQuery
from training.pipeline.records import Debate, GradedQuestion, VotedPool
from training.rows import TrainingRow
from trio_core.values import Message, Value

KINDS = ("hard", "medium", "easy")
TEXTS = st.text(max_size=9) | st.sampled_from((
    '"difficulty":"easy"', '","difficulty":"easy","x":"', "\\\"difficulty\":\"easy\"", "\u2028\n", EVIL))
GRADED = st.lists(st.tuples(st.sampled_from(KINDS), TEXTS), max_size=30)

MEANT: dict[type[Value], Callable[[Any], str]] = {
    GradedQuestion: lambda row: row.difficulty, Debate: lambda row: row.end, Rollout: lambda row: "gain" if row.reward > 0 else "none",
    ScoredQuery: lambda row: row.problem or "valid", VotedPool: lambda row: row.label, TrainingRow: lambda row: row.label,
}


def question(n: int, difficulty: Any, text: str) -> GradedQuestion:
    return GradedQuestion(id=f"q{n}", question=text, answers=(text,), dataset=text, rollouts=4, right=1, difficulty=difficulty)


@given(GRADED, GRADED, st.integers(0, 9), st.integers(1, 9), st.sampled_from(KINDS))
def test_rows_of_a_value_are_those_of_the_whole_file(
        before: list[tuple[str, str]], more: list[tuple[str, str]], first: int, count: int, value: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / "graded", list[GradedQuestion]()
        for part in (before, more):
            fresh = [question(len(rows) + n, difficulty, text) for n, (difficulty, text) in enumerate(part)]
            records.append(path, fresh)
            rows += fresh
            found = read_facet(path, DIFFICULTY, value, first, count)
            wanted = [(n, row) for n, row in enumerate(rows) if row.difficulty == value][first:first + count]
            assert [(line.number, GradedQuestion.model_validate_json(line.text or b"")) for line in found.lines] == wanted
            assert found.counts == {kind: sum(row.difficulty == kind for row in rows) for kind in KINDS} and found.whole


def test_a_line_without_its_end_waits_and_a_damaged_one_has_no_value(tmp_path: Path) -> None:
    path = tmp_path / "graded"
    whole = question(1, "hard", "a").model_dump_json()
    path.write_bytes(b"\xff\xfe\n" + whole.encode() + b"\n" + whole[:-20].encode())
    assert read_facet(path, DIFFICULTY, "hard", 0, 9).counts["hard"] == 1
    with path.open("a") as file:
        file.write(whole[-20:] + "\n")
    assert [line.number for line in read_facet(path, DIFFICULTY, "hard", 0, 9).lines] == [1, 2]
    path.write_text(question(1, "easy", "of another run").model_dump_json() + "\n" + whole + "\n" * 900)
    assert read_facet(path, DIFFICULTY, "hard", 0, 9).counts == {"hard": 1, "medium": 0, "easy": 1}
    assert read_facet(tmp_path / "none", DIFFICULTY, "hard", 0, 9).counts["hard"] == 0


def test_of_a_very_large_file_the_beginning_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records.write(tmp_path / "graded", [question(n, "hard", "a") for n in range(50)])
    monkeypatch.setattr(module, "MOST_READ", 500)
    found = read_facet(tmp_path / "graded", DIFFICULTY, "hard", 0, 100)
    assert not found.whole and 0 < found.counts["hard"] == len(found.lines) < 50


def test_every_data_set_is_chosen_from_by_its_rows_own_words(tmp_path: Path) -> None:
    make_run(tmp_path / "run", EVIL)
    said = (Message(role="user", content=EVIL),)
    labels: tuple[BinaryLabel, ...] = ("sufficient", "insufficient", "sufficient")
    learned = [TrainingRow(item_id=n, split="train", label=label, source="votes", question=EVIL, messages=said)
               for n, label in enumerate(labels)]
    records.write(tmp_path / "run" / "judge" / TRAIN, learned)
    run = open_run(tmp_path, "run")

    def rows(step: str, file: DataFile, only: str = "") -> list[Any]:
        pages = read_data(run, step, file, 1, only).pages
        return [row.value for page in range(1, pages + 1) for row in read_data(run, step, file, page, only).rows]

    seen = set()
    for step in FILES:
        for file in (f for f in files_of(run, step) if f.facet is not None):
            everything, of = rows(step, file), MEANT[file.kind]
            seen.add(file.kind)
            for value in file.facet.values:  # type: ignore[union-attr]
                assert rows(step, file, value) == [row for row in everything if of(row) == value]
    assert seen == set(MEANT)


@pytest.mark.parametrize(("reward", "value"), [(0.5, "gain"), (1e-7, "gain"), (0.0, "none"), (-1.0, "none"), (1e22, "gain")])
def test_rewards_are_told_apart_by_their_sign(reward: float, value: str) -> None:
    row = Rollout(sample="s", output='"reward":9}', reward=reward).model_dump_json().encode()
    assert REWARD.value(row) == value
