"""The app's engine over another corpus: what an evaluation uses when it searches a corpus that is not the app's."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

from trio_core.errors import InputError
from trio_core.hub import RunHub
from trio_core.retrieval.corpus import corpus_name
from trio_core.settings import Settings
from trio_core.workbench import Workbench


class SideBench(Workbench):
    """Shares engine, store and event loop of a workbench; retriever and hub are its own, and `close` closes only those."""

    def __init__(self, main: Workbench, settings: Settings) -> None:
        self.settings, self.store, self.engine = settings, main.store, main.engine
        self.retriever, self.capabilities = None, main.capabilities
        self._main, self._judge, self._loop = main, None, main._loop
        self._up, self._state, self._message, self._began = None, "starting", "starting", time.monotonic()
        self.hub = RunHub(self._prepare, self.store, settings.runs)

    async def _start_engine(self) -> None:
        await self._main.ready()
        self.capabilities = self._main.capabilities

    def close(self) -> None:
        """Interrupts its own runs and closes its index."""
        self._loop.call(self.hub.close())
        if self.retriever is not None:
            self._loop.call(self.retriever.close())


def side_settings(settings: Settings, corpus: str) -> Settings:
    """The settings over another corpus, whose index lies beside the app's. Raises InputError for a remote retriever."""
    if settings.retriever.kind == "http":
        raise InputError("the passages lie with a remote retriever, so that no other corpus can be chosen here")
    encoder = re.sub(r"[^A-Za-z0-9.]+", "-", Path(settings.retriever.encoder).name).strip("-") or "encoder"
    # Many corpora are called corpus.jsonl: without the place in its name, one index would replace another that is in use.
    place = hashlib.blake2b(corpus.encode(), digest_size=4).hexdigest()
    folder = settings.data_dir / "indexes" / f"{corpus_name(corpus)}-{place}-{encoder}"
    return settings.model_copy(update={"retriever": settings.retriever.model_copy(update={"corpus": corpus, "index_dir": folder})})
