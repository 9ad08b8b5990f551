"""What a method may ask of a model server, whichever it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol

from trio_core.judge_head import JudgeHead
from trio_core.values import Capabilities, ChatCall, Completion, Value, VerdictReading


class JudgeAdapter(Value):
    """A judge version that can go live. `zero-shot` has no adapter: the base model judges."""

    name: str = "zero-shot"
    peft_dir: Path | None = None
    """Folder that PEFT saved (vLLM, transformers)."""
    gguf: Path | None = None
    """The same adapter for llama.cpp."""
    threshold: float = 0.5
    head: JudgeHead | None = None
    """Gives P(sufficient) from the model's own and other signals of the round."""


class Engine(Protocol):
    """A model server behind one address, or a script. All methods are coroutine-safe; one instance serves the app."""

    judge: JudgeAdapter
    """The judge that is live."""

    async def start(self) -> None:
        """Brings the server up where that is ours to do. Raises ModelFileError or EngineError."""

    async def probe(self) -> Capabilities:
        """Finds out what the server can do; cached after the first success."""

    def stream(self, call: ChatCall) -> AsyncGenerator[str | Completion, None]:
        """Yields text as it is written and the `Completion` last. Closing the iterator stops the server's work.

        Raises EngineError subclasses; nothing is retried once text has been yielded.
        """

    async def verdict(self, call: ChatCall) -> VerdictReading:
        """Asks for one of the two labels (`LABEL_TEXT`), constrained where the server can, with P(sufficient)."""

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` with the serving model's tokenizer (cached); estimated where the server can't tell."""

    def describe(self, role: str) -> tuple[str, str | None]:
        """Model and adapter that serve a role."""

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """Makes a judge version live for all later calls without restarting the app; calls under way finish first."""

    async def close(self) -> None:
        """Ends what `start` began."""
