"""Whole runs of the same questions with two judges: what a better judge does to answers, rounds and calls."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from storage.store import Store
from storage.values import JudgeVersion
from training.bootstrap import resampled
from training.gate_values import Downstream, DownstreamSide, GateRule
from training.progress import ProgressLog
from training.question_set import Asked, pick, read_questions
from training.scoring import attached
from training.stop import StopRequest
from training.work_values import DownstreamTask
from trio_core.errors import TrainingError
from trio_core.runs import RunRequest
from trio_core.settings import Settings
from trio_core.workbench import Workbench

FILE = "downstream.jsonl"
FIGURES = ("em", "f1", "rounds", "calls", "seconds")
Row = Mapping[str, Any]


def run_both(task: DownstreamTask, judges: Sequence[JudgeVersion], store: Store, settings: Settings, folder: Path, rule: GateRule,
             trained_questions: frozenset[str], log: ProgressLog, stop: StopRequest) -> Downstream:
    """Runs every question with both judges (live first) and compares. Runs that are done are not made again. Blocks long."""
    asked = pick(read_questions(task.dataset), task.questions, task.seed, trained_questions)
    if not asked:
        raise TrainingError(f"the question set {task.dataset!r} has no answerable question that the judges were not trained on")
    rows = _read(folder / FILE)
    for number, judge in enumerate(judges):
        todo = [q for q in asked if (judge.name, q.id) not in rows]
        if todo:
            _run_all(task, judge, todo, store, settings, folder, log, stop, (number * len(asked), len(judges) * len(asked)))
            rows = _read(folder / FILE)
    return compare(task, judges[0].name, judges[1].name, asked, rows, rule)


def _run_all(task: DownstreamTask, judge: JudgeVersion, asked: Sequence[Asked], store: Store, settings: Settings, folder: Path,
             log: ProgressLog, stop: StopRequest, at: tuple[int, int]) -> None:
    bench = Workbench(attached(settings), store, judge=judge.adapter(settings.data_dir))
    began, done_before = time.monotonic(), at[0]
    width = max(1, settings.runs.max_running)
    try:
        bench.bring_up(wait=True)
        for first in range(0, len(asked), width):
            stop.check()
            some = asked[first : first + width]
            ids = [bench.start_run(RunRequest(
                question=q.question, method=task.method, settings=task.settings, gold=q.gold, dataset=q.dataset, question_id=q.id,
                owner="gate", origin="batch", group=f"gate {folder.name}")) for q in some]
            for question, run_id in zip(some, ids, strict=True):
                bench.wait_run(run_id)
                _append(folder / FILE, _row(store, judge.name, question, run_id))
            done = min(first + width, len(asked))
            left = (time.monotonic() - began) / done * (len(asked) - done)
            log.work(f"runs with {judge.name}", done_before + done, at[1], left)
    finally:
        bench.close()


def _row(store: Store, judge: str, question: Asked, run_id: str) -> Row:
    run = store.run(run_id)
    assert run is not None, "a run that was started is stored"
    figures = {name: getattr(run, name) for name in FIGURES} if run.status == "finished" and run.em is not None else {}
    return {"judge": judge, "question": question.id, "run": run_id, **figures}


def compare(task: DownstreamTask, live: str, candidate: str, asked: Sequence[Asked], rows: Mapping[tuple[str, str], Row],
            rule: GateRule) -> Downstream:
    """Means and paired intervals over the questions that ran to their end with both judges."""
    both = [q.id for q in asked if all("em" in rows.get((judge, q.id), {}) for judge in (live, candidate))]
    if not both:
        raise TrainingError(f"no question of {len(asked)} ran to its end with both judges; look at the runs of this job")

    def side(judge: str) -> DownstreamSide:
        return DownstreamSide(judge=judge, **{name: sum(float(rows[judge, q][name]) for q in both) / len(both) for name in FIGURES})

    def measure(chosen: Any) -> dict[str, float | None]:
        names = [both[i] for i in chosen]
        return {name: sum(float(rows[candidate, q][name]) - float(rows[live, q][name]) for q in names) / len(names) for name in FIGURES[:4]}

    return Downstream(
        method=task.method, questions=len(both), live=side(live), candidate=side(candidate), failed=len(asked) - len(both),
        differences=resampled(measure, both, rule),
        runs={q: {judge: str(rows[judge, q]["run"]) for judge in (live, candidate)} for q in both})


def _append(path: Path, row: Row) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row))


def _read(path: Path) -> dict[tuple[str, str], Row]:
    """(judge, question id) -> its last row; a line cut by a kill is skipped."""
    rows: dict[tuple[str, str], Row] = {}
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        try:
            row = json.loads(line)
            rows[row["judge"], row["question"]] = row
        except (ValueError, KeyError, TypeError):
            continue
    return rows
