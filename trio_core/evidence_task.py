"""Evidence sampling that goes on in the workbench's loop while a page or a command line looks."""

from __future__ import annotations

import concurrent.futures
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

from trio_core.errors import TrioscopeError
from trio_core.evidence import (
    AnswerAgent,
    AnswerPrompt,
    AnswerSample,
    EvidenceReport,
    SampleSettings,
    sample_answers,
    summarise,
)
from trio_core.values import JudgeItem

log = logging.getLogger(__name__)


class EvidenceTask:
    """Samples of one item. Written in the loop's thread, readable from any; `error` is in words for a person."""

    def __init__(self, item: JudgeItem, settings: SampleSettings, gold: Sequence[str] = ()) -> None:
        self.item = item
        self.settings = settings
        self.gold = tuple(gold)
        self.prompt: AnswerPrompt | None = None
        self.error = ""
        self.future: concurrent.futures.Future[None] | None = None
        self._samples: list[AnswerSample] = []

    @property
    def samples(self) -> tuple[AnswerSample, ...]:
        """Answers so far, in the order in which they came."""
        return tuple(self._samples)

    @property
    def done(self) -> bool:
        """True once nothing more comes: all sampled, cancelled or failed."""
        return self.future is not None and self.future.done()

    def report(self) -> EvidenceReport:
        """The answers so far as counts."""
        return summarise(self.samples, self.settings.samples)

    def cancel(self) -> None:
        """Stops the calls under way; what has come stays."""
        if self.future is not None:
            self.future.cancel()

    def wait(self, timeout: float | None = None) -> EvidenceReport:
        """Blocks until all samples are there, or sampling has ended otherwise. Raises TimeoutError."""
        assert self.future is not None, "sampling begins with Workbench.sample_evidence"
        concurrent.futures.wait([self.future], timeout)
        if not self.future.done():
            raise TimeoutError(f"{len(self._samples)} of {self.settings.samples} answers came within {timeout:g} s")
        return self.report()

    async def run(self, agent: Callable[[], Awaitable[AnswerAgent]]) -> None:
        """The work itself; a fault ends it and stands in `error`."""
        try:
            ready = await agent()
            self.prompt = await ready.messages(self.item)
            async with aclosing(sample_answers(ready, self.prompt.messages, self.settings, self.gold)) as samples:  # type: ignore[type-var]
                async for sample in samples:
                    self._samples.append(sample)
        except TrioscopeError as error:
            self.error = str(error)
        except Exception as error:  # a fault of ours is shown where the answers would stand
            log.exception("evidence sampling failed")
            self.error = f"{type(error).__name__}: {error}"
