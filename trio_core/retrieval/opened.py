"""An index folder opened for searching: manifest, passages, and the checks that it fits what is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trio_core.errors import UnfitIndexError
from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.manifest import Bm25Part, DensePart, Manifest, read_manifest
from trio_core.retrieval.store import PassageStore


class OpenedIndex:
    """Read-only. Raises UnfitIndexError on opening when the folder holds no index, a damaged one, or other passages."""

    def __init__(self, index_dir: Path, corpus_hash: str | None = None) -> None:
        manifest = read_manifest(index_dir)
        if manifest is None:
            raise UnfitIndexError(f"there is no index in {str(index_dir)!r}; {build_command(index_dir)}")
        if corpus_hash is not None and corpus_hash != manifest.corpus.hash:
            raise UnfitIndexError(
                f"index {str(index_dir)!r} was built from corpus {manifest.corpus.name!r} with hash "
                f"{manifest.corpus.hash[:12]}, the corpus now has {corpus_hash[:12]}; {build_command(index_dir, manifest)}"
            )
        self.dir = index_dir
        self.manifest: Manifest = manifest
        self.store = PassageStore(index_dir / manifest.corpus.folder)
        if len(self.store) != manifest.corpus.count:
            raise UnfitIndexError(
                f"index {str(index_dir)!r} holds {len(self.store)} passages, its manifest says {manifest.corpus.count}; "
                + build_command(index_dir, manifest)
            )

    def dense(self, encoder: Encoder) -> DensePart:
        """The dense part. Raises UnfitIndexError if it is missing or was made with another encoder, prefix or size."""
        part = self.manifest.dense
        if part is None:
            raise UnfitIndexError(f"index {str(self.dir)!r} has no dense part; {self._command('dense')}")
        if encoder.name != part.encoder.name:  # found before a model is loaded
            self._unfit([f"name: {part.encoder.name!r} against {encoder.name!r}"])
        differences = part.encoder.differences(encoder.spec())
        if differences:
            self._unfit(differences)
        return part

    def bm25(self, tokenizer: str) -> Bm25Part:
        """The BM25 part. Raises UnfitIndexError if it is missing or was made with another tokenizer."""
        part = self.manifest.bm25
        if part is None:
            raise UnfitIndexError(f"index {str(self.dir)!r} has no BM25 part; {self._command('bm25')}")
        if part.tokenizer != tokenizer:
            raise UnfitIndexError(
                f"index {str(self.dir)!r} was made with tokenizer {part.tokenizer!r}, this version has {tokenizer!r}; "
                + self._command("bm25")
            )
        return part

    def identity(self, kind: str) -> dict[str, Any]:
        """What a run records about its passages."""
        corpus = self.manifest.corpus
        return {
            "kind": kind,
            "corpus": corpus.name,
            "corpus_hash": corpus.hash,
            "passages": corpus.count,
            "built_at": self.manifest.built_at,
        }

    def _unfit(self, differences: list[str]) -> None:
        raise UnfitIndexError(
            f"index {str(self.dir)!r} and the encoder in the settings do not fit: {'; '.join(differences)} (index against "
            f"settings). Use the encoder of the index, or {self._command('dense')}"
        )

    def _command(self, kind: str) -> str:
        return build_command(self.dir, self.manifest, kind)


def build_command(index_dir: Path, manifest: Manifest | None = None, kind: str = "", corpus: str = "") -> str:
    """The command that makes or replaces an index, as the end of an error message."""
    source = corpus or (manifest.corpus.source if manifest else "<corpus>")
    kind_option = f" --kind {kind}" if kind else ""
    return f"build it with: python -m trio_core index build --corpus {source!r} --out {str(index_dir)!r}{kind_option}"
