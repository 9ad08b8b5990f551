"""Progress of a training job as JSON lines: the child process appends, the app reads. Readable without torch."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from storage.values import JobProgress
from training.values import HeldOutPoint, Scores

Stage = Literal["loading", "before", "training", "after", "converting"]
FILE = "progress.jsonl"
STAGE_EVERY_S = 1.0


class ProgressLog:
    """Appends to `progress.jsonl`; every line is flushed, so that a killed process loses none."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / FILE).open("a", encoding="utf-8")
        self._last = 0.0

    def stage(self, stage: Stage, message: str, done: int = 0, of: int = 0, seconds_left: float | None = None) -> None:
        """Where the job is; lines within one second of each other are dropped unless they begin or end a stage."""
        now = time.monotonic()
        if 0 < done < of and now - self._last < STAGE_EVERY_S:
            return
        self._last = now
        self._write(kind="stage", stage=stage, message=message, done=done, of=of, seconds_left=seconds_left)

    def step(self, step: int, steps: int, loss: float, lr: float, seconds: float, seconds_left: float) -> None:
        """One optimiser step. `seconds` since training began or was resumed."""
        self._write(kind="step", step=step, steps=steps, loss=loss, lr=lr, seconds=round(seconds, 2),
                    seconds_left=round(seconds_left, 1))

    def work(self, message: str, done: int, of: int, seconds_left: float | None = None, **figures: float) -> None:
        """One piece of a job that is no training: items done of all. Lines within a second are dropped but the first and last."""
        now = time.monotonic()
        if 0 < done < of and now - self._last < STAGE_EVERY_S:
            return
        self._last = now
        self._write(kind="work", message=message, done=done, of=of, seconds_left=seconds_left, figures=figures)

    def held_out(self, step: int, scores: Scores) -> None:
        """A judge's figures on the held-out rows; step 0 = before training."""
        self._write(kind="held_out", step=step, balanced_accuracy=scores.balanced_accuracy, auroc=scores.auroc, ece=scores.ece)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, **line: Any) -> None:
        self._file.write(json.dumps({"time": round(time.time(), 2), **line}) + "\n")
        self._file.flush()


class Curves(NamedTuple):
    """What the lines say, in the newest state."""

    progress: JobProgress
    loss: tuple[tuple[int, float], ...]
    held_out: tuple[HeldOutPoint, ...]


def read_progress(folder: Path) -> Curves:
    """The curves so far. A step that was repeated after a resume counts with its last value."""
    loss: dict[int, float] = {}
    points: dict[int, HeldOutPoint] = {}
    progress = JobProgress()
    for line in _lines(folder / FILE):
        if line["kind"] == "step":
            loss = {step: value for step, value in loss.items() if step < line["step"]} | {line["step"]: line["loss"]}
            progress = _step(line)
        elif line["kind"] == "held_out":
            points[line["step"]] = HeldOutPoint(**{name: line[name] for name in HeldOutPoint.model_fields})
        elif line["kind"] == "work":
            progress = JobProgress(step=line["done"], steps=line["of"], seconds_left=line["seconds_left"], stage=line["message"],
                                   figures=line["figures"])
        elif line["kind"] == "stage":
            progress = _stage(line, progress)
    return Curves(progress, tuple(sorted(loss.items())), tuple(points[step] for step in sorted(points)))


def _step(line: dict[str, Any]) -> JobProgress:
    return JobProgress(step=line["step"], steps=line["steps"], seconds_left=line["seconds_left"], stage="training",
                       figures={"loss": line["loss"], "learning_rate": line["lr"]})


def _stage(line: dict[str, Any], last: JobProgress) -> JobProgress:
    stage = f"{line['stage']}: {line['message']}" if line["message"] else line["stage"]
    if line["of"]:
        stage += f" ({line['done']} of {line['of']})"
    return last.model_copy(update={"stage": stage, "seconds_left": line["seconds_left"]})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    for line in text.split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue  # empty, or the last line of a killed process
