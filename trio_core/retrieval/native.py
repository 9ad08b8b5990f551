"""The one place where torch and faiss are imported, always in this order.

Both bring an OpenMP runtime; mixed import orders are a known source of hangs and crashes (faiss#3401, #4273). Imports
are lazy, because torch and sentence-transformers take seconds.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def faiss() -> Any:
    """The faiss module."""
    _torch()
    return importlib.import_module("faiss")


def sentence_transformer() -> Any:
    """The class sentence_transformers.SentenceTransformer."""
    _torch()
    return importlib.import_module("sentence_transformers").SentenceTransformer


def cross_encoder() -> Any:
    """The class sentence_transformers.CrossEncoder."""
    _torch()
    return importlib.import_module("sentence_transformers").CrossEncoder


@contextmanager
def quiet() -> Iterator[None]:
    """No "Loading weights" bar on stderr while a small model is loaded."""
    logging = importlib.import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _torch() -> ModuleType | None:
    try:
        return importlib.import_module("torch")
    except ImportError:  # faiss alone also works, e.g. on an index host without torch
        return None
