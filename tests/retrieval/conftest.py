"""Small corpora and indexes without a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.index import build_index
from trio_core.retrieval.models import HashedWords

TEXTS = (
    ("1", "Paris", "Paris is the capital of France and lies on the Seine."),
    ("2", "Rome", "Rome is the capital of Italy and lies on the Tiber."),
    ("3", "Dune", "Dune is a novel by Frank Herbert about a desert planet."),
)


class SpyEncoder(HashedWords):
    """Remembers every text that reaches the model; `fail_after` = texts after which it breaks down."""

    def __init__(self, *args: Any, fail_after: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.texts: list[str] = []
        self.fail_after = fail_after

    def _embed(self, texts: Sequence[str], batch_size: int) -> Any:
        if self.fail_after is not None and len(self.texts) >= self.fail_after:
            raise KeyboardInterrupt
        self.texts += texts
        return super()._embed(texts, batch_size)


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes a FlashRAG file; a row is (id, title, text), or a line as it stands."""

    def write(*rows: Any, name: str = "c.jsonl") -> Path:
        lines = [
            row if isinstance(row, str) else json.dumps({"id": row[0], "contents": f'"{row[1]}"\n{row[2]}'}, ensure_ascii=False)
            for row in rows
        ]
        path = tmp_path / name
        path.write_bytes("".join(line + "\n" for line in lines).encode())
        return path

    return write


@pytest.fixture
def three(jsonl: Callable[..., Path]) -> Path:
    """A corpus of three passages."""
    return jsonl(*TEXTS)


@pytest.fixture
def indexed(three: Path, tmp_path: Path) -> Path:
    """An index folder of `three` with both parts."""
    build_index(Corpus.open(three), tmp_path / "index", "hybrid", HashedWords())
    return tmp_path / "index"
