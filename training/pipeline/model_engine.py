"""A transformers model of this process as an engine: what asks a server elsewhere asks it too.

Calls that wait together run as one batch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from training.base_model import load_model, load_tokenizer
from training.tokens import label_ids, prompt_ids
from trio_core.engines.base import JudgeAdapter
from trio_core.values import Capabilities, ChatCall, Completion, Usage, VerdictReading


class Waiting(NamedTuple):
    """A call and who waits for it."""

    call: ChatCall
    done: asyncio.Future[Completion]


class ModelEngine:
    """Base model with at most one adapter. Greedy calls repeat exactly; sampled ones by the seeds of their batch."""

    def __init__(self, base: str, device: str, adapter: Path | None = None, batch: int = 32) -> None:
        self.judge = JudgeAdapter()
        self._base, self._device, self._adapter, self._batch = base, device, adapter, batch
        self._model: Any = None
        self._tokenizer: Any = None
        self._waiting: list[Waiting] = []
        self._runner: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Loads the model. Raises TrainingError."""
        self._tokenizer = load_tokenizer(self._base)
        self._model = load_model(self._base, self._device)
        if self._adapter is not None:
            from peft import PeftModel

            self._model = PeftModel.from_pretrained(self._model, str(self._adapter))
        self._model.eval()

    async def probe(self) -> Capabilities:
        """What it can do."""
        return Capabilities(model=self._base, context_tokens=self._model.config.max_position_embeddings, streams=False, verdict="choice",
                            logprobs=True)

    async def stream(self, call: ChatCall) -> AsyncGenerator[str | Completion, None]:
        """The text in one piece, then the Completion."""
        waiting = Waiting(call, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        completion = await waiting.done
        yield completion.text
        yield completion

    async def verdict(self, call: ChatCall) -> VerdictReading:
        """P(sufficient) from the two labels' first tokens."""
        import torch

        ids = label_ids(self._tokenizer, call.messages)
        with torch.no_grad():
            tokens = torch.tensor([prompt_ids(self._tokenizer, call.messages)], device=self._device)
            row = self._model(input_ids=tokens).logits[0, -1].float()
        p = float(torch.softmax(row[[ids.sufficient, ids.insufficient]], dim=0)[0])
        text = "Sufficient Information" if p >= 0.5 else "Insufficient Information"
        return VerdictReading(completion=Completion(text=text, model=self._base), p_sufficient=p, p_method="two labels")

    async def count_tokens(self, text: str) -> int:
        """Exact."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def describe(self, role: str) -> tuple[str, str | None]:
        """Model and adapter."""
        return self._base, str(self._adapter) if self._adapter else None

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """Takes note; verdicts are the base model's."""
        self.judge = adapter

    async def close(self) -> None:
        """Frees the model."""
        self._model = None

    async def _run(self) -> None:
        await asyncio.sleep(0)  # calls made in the same turn join the batch
        while self._waiting:
            first = self._waiting[0].call
            kind = (first.temperature, first.max_tokens)
            batch = [w for w in self._waiting if (w.call.temperature, w.call.max_tokens) == kind][: self._batch]
            self._waiting = [w for w in self._waiting if w not in batch]
            try:
                made = await asyncio.to_thread(self._generate, [w.call for w in batch])
            except Exception as error:
                for waiting in batch:
                    if not waiting.done.done():
                        waiting.done.set_exception(error)
                continue
            for waiting, completion in zip(batch, made, strict=True):
                if not waiting.done.done():
                    waiting.done.set_result(completion)
            await asyncio.sleep(0)

    def _generate(self, calls: Sequence[ChatCall]) -> list[Completion]:
        import torch

        prompts = [prompt_ids(self._tokenizer, call.messages) for call in calls]
        width, pad = max(map(len, prompts)), self._tokenizer.pad_token_id
        ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts], device=self._device)
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=self._device)
        how = {"do_sample": True, "temperature": calls[0].temperature, "top_k": 0} if calls[0].temperature else {"do_sample": False}
        began = time.monotonic()
        # A training in this process draws from the same generator: it must not be set back.
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(sum(call.seed or 0 for call in calls))
            out = self._model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=calls[0].max_tokens, pad_token_id=pad,
                                       eos_token_id=self._tokenizer.eos_token_id, **how)
        seconds = (time.monotonic() - began) / len(calls)
        return [self._completion(row[width:].tolist(), len(p), seconds) for row, p in zip(out, prompts, strict=True)]

    def _completion(self, ids: list[int], prompt: int, seconds: float) -> Completion:
        end = self._tokenizer.eos_token_id
        kept = ids[: ids.index(end)] if end in ids else ids
        return Completion(text=self._tokenizer.decode(kept, skip_special_tokens=True), finish_reason="stop" if end in ids else "length",
                          usage=Usage(prompt_tokens=prompt, completion_tokens=len(kept)), seconds=seconds, model=self._base,
                          adapter=str(self._adapter) if self._adapter else None)
