"""manifest.json of an index: what is in it and what it was made from. Written last, so that a killed build leaves none.

An index folder holds content-addressed parts (`passages-…`, `dense-…`, `bm25-…`) and the manifest that names the valid
ones; replacing the manifest replaces the index in one step.
"""

from __future__ import annotations

import importlib.metadata
import os
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from trio_core.errors import UnfitIndexError
from trio_core.retrieval.encoder import EncoderSpec
from trio_core.retrieval.report import CorpusReport
from trio_core.values import Value

MANIFEST = "manifest.json"
FORMAT = 1
LIBRARIES = ("faiss-cpu", "faiss-gpu", "sentence-transformers", "torch", "transformers", "bm25s", "numpy")


class CorpusPart(Value):
    """The passages. `hash` covers ids and contents in order; `fingerprint` the files' names, sizes and times."""

    name: str
    source: str
    hash: str
    fingerprint: str
    count: int
    folder: str
    report: CorpusReport


class DensePart(Value):
    """A FAISS index of all passages, in their order, in so many files."""

    folder: str
    encoder: EncoderSpec
    factory: str
    metric: str = "inner_product"
    count: int
    parts: int = 1


class Bm25Part(Value):
    """A BM25 index of all passages, in their order."""

    folder: str
    tokenizer: str
    k1: float
    b: float
    count: int


class Manifest(Value):
    """The whole of an index."""

    format: int = FORMAT
    built_at: str
    versions: dict[str, str]
    corpus: CorpusPart
    dense: DensePart | None = None
    bm25: Bm25Part | None = None

    @property
    def folders(self) -> set[str]:
        """Names of the folders in use."""
        parts = (self.corpus, self.dense, self.bm25)
        return {part.folder for part in parts if part is not None}


def read_manifest(index_dir: Path) -> Manifest | None:
    """The manifest, or null where there is no index. Raises UnfitIndexError for a damaged one or one of another format."""
    path = index_dir / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnfitIndexError(f"{str(path)!r} cannot be read: {error}; build the index again") from error
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise UnfitIndexError(
            f"{str(path)!r} is damaged or of another version of Trioscope ({error.error_count()} fields do not fit); "
            "build the index again"
        ) from error
    if manifest.format != FORMAT:
        raise UnfitIndexError(f"{str(path)!r} has format {manifest.format}, this version reads {FORMAT}; build it again")
    return manifest


def write_manifest(index_dir: Path, manifest: Manifest) -> None:
    """Replaces the manifest in one step."""
    temporary = index_dir / (MANIFEST + ".new")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(manifest.model_dump_json(indent=2) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(index_dir / MANIFEST)


def library_versions() -> dict[str, str]:
    """Versions of the libraries that make the numbers."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def now() -> str:
    """Time of a build, UTC, seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
