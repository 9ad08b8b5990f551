"""A step's manifest: what it was made from and what it left. It is written last; a step with a manifest is done."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import training
import trio_core
from training.pipeline import records
from trio_core.errors import TrainingError
from trio_core.values import Value

FILE = "manifest.json"
LIBRARIES = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")
NO_DATA = ("checkpoints", FILE)


class StepManifest(Value):
    """One finished step."""

    step: str
    settings: dict[str, Any]
    """The parts of the profile that it hangs on, and the run's seed."""
    inputs: dict[str, str]
    """Earlier step -> hash of what it left."""
    outputs: dict[str, str]
    """File or folder -> sha256."""
    report: dict[str, Any]
    code: str
    """sha256 over the code of training and trio_core."""
    base: str
    base_hash: str
    device: str
    python: str
    versions: dict[str, str]
    finished: str
    seconds: float
    """Of the process that finished it."""

    @property
    def outputs_hash(self) -> str:
        """What a later step depends on."""
        return " ".join(f"{name}:{value[:16]}" for name, value in sorted(self.outputs.items()))


@lru_cache
def code_hash() -> str:
    """sha256 over the Python and YAML files of `training` and `trio_core`."""
    folders = (Path(next(iter(package.__path__))) for package in (training, trio_core))
    files = sorted(f for folder in folders for f in folder.rglob("*") if f.suffix in (".py", ".yaml"))
    return records.joined_hash([records.file_hash(f) for f in files])


def base_hash(base: str) -> str:
    """Hash of a local model's files; of a hub name, the name itself."""
    folder = Path(base)
    return records.file_hash(folder) if folder.is_dir() else f"name:{base}"


def make(step: str, folder: Path, settings: Mapping[str, Any], inputs: Mapping[str, str], report: Mapping[str, Any], base: str,
         device: str, seconds: float) -> StepManifest:
    """Hashes what lies in the step's folder and writes the manifest."""
    found = {f.name: records.file_hash(f) for f in sorted(folder.iterdir()) if f.name not in NO_DATA and not f.name.endswith(".part")}
    manifest = StepManifest(
        step=step, settings=dict(settings), inputs=dict(inputs), outputs=found, report=dict(report), code=code_hash(), base=base,
        base_hash=base_hash(base), device=device, python=platform.python_version(),
        versions={name: metadata.version(name) for name in LIBRARIES}, finished=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(seconds, 1))
    records.write_json(folder / FILE, manifest.model_dump(mode="json"))
    return manifest


def read(folder: Path) -> StepManifest | None:
    """The manifest of a finished step, or None. Raises TrainingError for one that cannot be read."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return StepManifest.model_validate(records.read_json(path))
    except ValidationError as error:
        raise TrainingError(f"{path} is of another version of this program ({error.errors()[0]['loc']}); use another --out") from error


def check(found: StepManifest, settings: Mapping[str, Any], inputs: Mapping[str, str], folder: Path) -> None:
    """Refuses a finished step that was made from something else. Raises TrainingError with what differs."""
    differ = [f"{key}: {found.settings.get(key)!r} then, {settings.get(key)!r} now" for key in sorted({*found.settings, *settings})
              if found.settings.get(key) != settings.get(key)]
    differ += [f"the data of step {name} changed" for name in inputs if found.inputs.get(name) != inputs[name]]
    if differ:
        raise TrainingError(f"step {found.step} in {folder} was made with other settings ({'; '.join(differ)[:600]}); use another --out, "
                            f"or give --again {found.step} to make it and what follows anew")
