"""What lies in a run's folder, read page by page, however it looks."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.pipeline.folder import make_run
from training.pipeline import lines as module
from training.pipeline import records
from training.pipeline.browse import WORKING_S, curve, find_runs, open_run
from training.pipeline.command import command, default_out, remember
from training.pipeline.data import FILES, files_of, read_data
from training.pipeline.lines import find_rows, read_page, tail
from training.pipeline.records import GradedQuestion
from trio_core.errors import InputError

ROWS = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=40)


@given(ROWS, st.booleans(), st.integers(0, 45), st.integers(0, 9))
def test_pages_are_those_of_the_whole_text(rows: list[bytes], cut: bool, first: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", 16)
        path = Path(folder) / "rows"
        path.write_bytes(b"".join(row + b"\n" for row in rows) + (b"half" if cut else b""))
        for _ in range(2):
            found = read_page(path, first, count)
            assert [line.text for line in found.lines] == rows[first:first + count] and (found.total, found.cut) == (len(rows), cut)
        with path.open("ab") as file:  # it goes on where it was cut
            file.write(b"more\nlast\n")
        rows = [*rows, b"halfmore" if cut else b"more", b"last"]
        found = read_page(path, first, count)
        assert [line.text for line in found.lines] == rows[first:first + count] and (found.total, found.cut) == (len(rows), False)


def test_a_file_made_anew_is_counted_anew(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"a\nb\n")
    assert read_page(path, 0, 9).total == 2
    path.write_bytes(b"one\ntwo\nthree\nfour\n")  # the same inode, larger, other content
    assert [line.text for line in read_page(path, 2, 9).lines] == [b"three", b"four"]


def test_a_line_that_is_too_long_stands_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINE", 8)
    path = tmp_path / "rows"
    path.write_bytes(b"short\n" + b"x" * 100 + b"\nafter\n")
    assert [line.text for line in read_page(path, 0, 9).lines] == [b"short", None, b"after"]


def test_rows_are_found_by_their_id(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text('{"id":"a","x":1}\n{"id":"ab","x":2}\n{"id":"b","x":3}\n{"id":"c","x":')
    assert {i: json.loads(text)["x"] for i, text in find_rows(path, {"ab", "b", "c", 'q"'}).items()} == {"ab": 2, "b": 3}
    assert find_rows(tmp_path / "none", {"a"}) == {}
    assert tail(path) == b'{"id":"b","x":3}'


def test_runs_are_found_with_what_each_step_is(tmp_path: Path) -> None:
    make_run(tmp_path / "pipelines" / "a")
    (tmp_path / "pipelines" / "no-run").mkdir()
    (tmp_path / "other").mkdir()
    found = find_runs(tmp_path)
    assert [run.id for run in found] == ["pipelines/a"]
    assert [(s.name, s.state) for s in found[0].steps] == [
        ("questions", "done"), ("debate", "done"), ("answer", "done"), ("query", "begun"), ("judge", "damaged"), ("serving", "to do")]
    assert found[0].done == 3 and found[0].at == "query agent, 1 of 3" and "manifest.json" in found[0].step("judge").problem
    assert "--recipe debate.rounds=2" in found[0].command


def test_a_run_is_at_work_until_it_is_done_or_silent(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run").parent, "run")
    changed = run.changed or datetime.now(UTC)
    assert run.working(changed) and not run.working(changed + timedelta(seconds=WORKING_S))
    done = run._replace(steps=tuple(step._replace(state="done") for step in run.steps))
    assert not done.working(changed) and not run._replace(changed=None).working(changed)


def test_every_data_set_can_be_turned_over(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    run = open_run(tmp_path, "run")
    for step in FILES:
        for file in files_of(run, step):
            page = read_data(run, step, file, 99)
            assert page.page == page.pages and page.total == (page.pages - 1) * file.rows + len(page.rows)
    questions = read_data(run, "questions", files_of(run, "questions")[0], 1)
    assert len(questions.rows) == 20 and questions.pages == 2 and isinstance(questions.rows[0].value, GradedQuestion)


def test_damaged_rows_are_said_and_the_others_shown(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    path = tmp_path / "run" / "judge" / "votes.jsonl"
    path.write_text('{"id": "x"}\n\xff\n' + path.read_text() + '{"id": "cut', encoding="latin-1")
    run = open_run(tmp_path, "run")
    page = read_data(run, "judge", FILES["judge"][0], 1)
    assert [row.problem[:12] for row in page.rows[:2]] == ["no VotedPool"] * 2 and page.cut
    assert not any(row.problem for row in page.rows[2:])
    assert page.samples  # the pools that the votes are about
    (tmp_path / "run" / "profile.json").write_text('{"name": ')
    (tmp_path / "run" / "progress.jsonl").write_bytes(b"\xff\n[]\n")
    for content in ("[1]", "null", "{", '{"step": "judge"}', "\xff"):
        (tmp_path / "run" / "answer" / "manifest.json").write_text(content, encoding="latin-1")
        run = open_run(tmp_path, "run")
        assert run.step("answer").state == "damaged" and run.problem and run.at == ""


@pytest.mark.parametrize("name", ["", ".", "..", "../run", "/etc", "run/../..", "no", "a/b/c", "run\0", "link", "run/judge"])
def test_only_runs_of_the_data_folder_can_be_opened(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "elsewhere" / "run")
    (tmp_path / "data").mkdir()
    make_run(tmp_path / "data" / "run")
    (tmp_path / "data" / "link").symlink_to(tmp_path / "elsewhere" / "run")
    with pytest.raises(InputError, match="no pipeline run"):
        open_run(tmp_path / "data", name)


def test_a_long_training_is_thinned_and_broken_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": n, "reward": n / 1000, "kl": None} for n in range(1, 1001)] + [{"step": 1000, "reward": 7.0}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + 'no\n[]\n{"step": 1001, "rew')
    found = curve(path, 100)
    assert (found.steps, found.broken, len(found.points)) == (1000, 2, 101)
    assert found.points[0] == (1, {"step": 1.0, "reward": 0.001}) and found.points[-1] == (1000, {"step": 1000.0, "reward": 7.0})
    assert curve(tmp_path / "none").points == ()


def test_the_command_goes_on_and_holds_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    remember(Path("run"), profile="own.yaml", recipe=["debate.rounds=2"], settings=Path("s.yaml"), snapshot=3,
             overrides=["store_url=postgresql+psycopg://ann:secret@host:5432/db"])
    line = command(tmp_path / "run", "x")
    assert "secret" not in line and "ann:…@host:5432" in line and f"--out {tmp_path / 'run'}" in line
    assert f"--profile {tmp_path / 'own.yaml'}" in line and f"--settings {tmp_path / 's.yaml'}" in line and "--snapshot 3" in line
    os.remove("run/command.json")
    assert command(tmp_path / "run", "x") == f"python -m training pipeline run --profile x --out {tmp_path / 'run'}"
    assert default_out(tmp_path, "a/own.yaml") == tmp_path / "pipelines" / "own"


def test_a_json_file_of_another_form_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(records.TrainingError, match="delete the folder of this step"):
        records.read_json(tmp_path / "x.json")
