"""Pipeline runs as they lie on disk, to look at: what each step is, its data, how far it is. Reads only; nothing here can fail a run.

A file that is absent, half written or damaged is said in words in its place; the rest is still read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from training.pipeline import manifest
from training.pipeline.command import RUNS, command
from training.pipeline.lines import tail, whole_lines
from training.pipeline.manifest import StepManifest
from training.pipeline.run import PROFILE, STEPS
from training.progress import FILE as PROGRESS
from trio_core.errors import InputError, TrioscopeError

State = Literal["done", "begun", "to do", "damaged"]
MOST_FOLDERS = 3_000
"""Folders of the data folder that are looked at."""
WORKING_S = 600
"""So long after its last sign of life an unfinished run counts as at work; a step of a large model takes minutes."""
MOST_SMALL = 4 << 20
"""Bytes of a file that is read whole (profile, manifest, card)."""


class StepSight(NamedTuple):
    """A step of a run."""

    name: str
    state: State
    manifest: StepManifest | None
    problem: str = ""


class RunSight(NamedTuple):
    """A run. `id` is its folder, relative to the data folder; `changed` is the last sign of life."""

    id: str
    folder: Path
    profile: dict[str, Any]
    steps: tuple[StepSight, ...]
    changed: datetime | None
    at: str
    """The newest line of progress, in words."""
    command: str
    problem: str = ""

    @property
    def done(self) -> int:
        """Finished steps."""
        return sum(step.state == "done" for step in self.steps)

    @property
    def finished(self) -> bool:
        """Whether all steps are done."""
        return self.done == len(self.steps)

    def working(self, now: datetime) -> bool:
        """Whether it may be at work: nothing locks a run's folder, so this goes by its last sign of life."""
        return not self.finished and self.changed is not None and (now - self.changed).total_seconds() < WORKING_S

    def step(self, name: str) -> StepSight:
        """A step by its name. Raises InputError."""
        for step in self.steps:
            if step.name == name:
                return step
        raise InputError(f"there is no step {name!r}; the steps are {', '.join(s.name for s in self.steps)}")


def find_runs(data_dir: Path) -> list[RunSight]:
    """Runs in the data folder, two levels deep, newest first."""
    found = {folder for folder in _folders(data_dir) if _is_run(folder)}
    sights = [_sight(data_dir, folder) for folder in found]
    return sorted(sights, key=lambda s: s.changed or datetime.min.replace(tzinfo=UTC), reverse=True)


def open_run(data_dir: Path, run_id: str) -> RunSight:
    """One run. Raises InputError for what is none, or lies elsewhere."""
    parts = Path(run_id).parts
    folder = data_dir / run_id
    inside = parts and len(parts) <= 2 and ".." not in parts and not Path(run_id).is_absolute() and "\0" not in run_id
    if not inside or not folder.is_dir() or folder.is_symlink() or not _is_run(folder):
        raise InputError(f"there is no pipeline run {run_id[:200]!r} in the app's data folder; open one from the list")
    return _sight(data_dir, folder)


def _folders(data_dir: Path) -> Iterator[Path]:
    left = MOST_FOLDERS
    own = data_dir / RUNS
    for parent in (own, data_dir, *(f for f in _children(data_dir) if f != own)):
        for folder in _children(parent):
            left -= 1
            if left < 0:
                return
            yield folder


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(f for f in folder.iterdir() if f.is_dir() and not f.is_symlink())
    except OSError:
        return []


def _is_run(folder: Path) -> bool:
    return (folder / PROFILE).is_file() and any((folder / step.name).is_dir() for step in STEPS)


def _sight(data_dir: Path, folder: Path) -> RunSight:
    profile, problem = _profile(folder)
    steps = tuple(_step(folder, step.name) for step in STEPS)
    files = [folder / PROGRESS, *(folder / step.name / manifest.FILE for step in STEPS), folder / PROFILE]
    times = [time for f in files if (time := _time(f))]
    return RunSight(folder.relative_to(data_dir).as_posix(), folder, profile, steps, max(times, default=None), _at(folder),
                    command(folder, str(profile.get("name", ""))), problem)


def _time(file: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError:
        return None


def _profile(folder: Path) -> tuple[dict[str, Any], str]:
    try:
        found = json.loads(small(folder / PROFILE))
    except (ValueError, InputError) as error:
        return {}, f"the profile of this run cannot be read ({error})"
    return (found, "") if isinstance(found, dict) else ({}, "the profile of this run holds no settings")


def _step(folder: Path, name: str) -> StepSight:
    try:
        found = manifest.read(folder / name)
    except (TrioscopeError, OSError) as error:
        return StepSight(name, "damaged", None, str(error))
    if found is not None:
        return StepSight(name, "done", found)
    return StepSight(name, "begun" if (folder / name).is_dir() else "to do", None)


def _at(folder: Path) -> str:
    try:
        line = json.loads(tail(folder / PROGRESS))
        if line["kind"] == "step":
            return f"training, step {int(line['step']):,} of {int(line['steps']):,}"
        return f"{line['message']}, {int(line['done']):,} of {int(line['of']):,}"
    except (ValueError, KeyError, TypeError, OverflowError):
        return ""


def small(path: Path) -> str:
    """A small text file; characters that are none are marked. Raises InputError."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_SMALL).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or error}") from error


class Curve(NamedTuple):
    """Figures by step, thinned for a plot. `broken` = lines that are no figures."""

    points: tuple[tuple[int, dict[str, float]], ...]
    steps: int
    broken: int


def curve(path: Path, most: int = 240, kind: str = "") -> Curve:
    """The figures of a training's log (`metrics.jsonl`, or lines of a `kind` in `progress.jsonl`), read line by line.

    A step that was repeated after a resume counts with its last; of many steps every n-th is kept, and the last.
    """
    found: dict[int, dict[str, float]] = {}
    broken = 0
    for text in whole_lines(path):
        try:
            line = json.loads(text)
            if kind and line["kind"] != kind:
                continue
            found[int(line["step"])] = {k: float(v) for k, v in line.items() if isinstance(v, (int, float)) and math.isfinite(v)}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            broken += 1
    steps = sorted(found)
    every = -(-len(steps) // most) or 1
    kept = sorted({*steps[::every], *steps[-1:]})
    return Curve(tuple((step, found[step]) for step in kept), len(steps), broken)
