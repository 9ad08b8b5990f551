"""The command that made a run, kept in its folder: the line that goes on with it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from training.pipeline import records
from trio_core.errors import TrainingError

FILE = "command.json"
RUNS = "pipelines"
"""Folder of runs in the app's data folder."""
_PASSWORD = re.compile(r"(://[^\s/:@]*:)[^\s/@]+(?=@)")


def default_out(data_dir: Path, profile: str) -> Path:
    """Where a run goes that no --out names."""
    return data_dir / RUNS / Path(profile).name.removesuffix(".yaml").removesuffix(".yml")


def remember(out: Path, *, profile: str, recipe: Sequence[str] = (), app_profile: str | None = None, settings: Path | None = None,
             overrides: Sequence[str] = (), snapshot: int | None = None) -> None:
    """Keeps what goes on with a run: not --again and --until, which belong to one call. Paths absolute, passwords left out."""
    words = ["--profile", _path(profile) if profile.endswith((".yaml", ".yml")) else profile]
    for flag, values in (("--recipe", recipe), ("--set", overrides)):
        words += [word for value in values for word in (flag, _PASSWORD.sub(r"\1…", value))]
    for flag, given in (("--app-profile", app_profile), ("--settings", settings and _path(settings)), ("--snapshot", snapshot)):
        words += [flag, str(given)] if given is not None else []
    called = datetime.now(UTC).isoformat(timespec="seconds")
    records.write_json(out / FILE, {"arguments": [*words, "--out", _path(out)], "called": called})


def _path(path: Path | str) -> str:
    return str(Path(path).resolve())


def command(folder: Path, profile: str) -> str:
    """The whole line, for a shell. What a run of an older version did not keep is filled with its profile's name."""
    try:
        found = records.read_json(folder / FILE)["arguments"]
        arguments = [str(word) for word in found] if isinstance(found, list) else []
    except (TrainingError, KeyError):
        arguments = []
    arguments = arguments or ["--profile", profile or "PROFILE", "--out", str(folder)]
    return shlex.join(["python", "-m", "training", "pipeline", "run", *arguments])
