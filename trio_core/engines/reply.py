"""Puts a streamed chat completion together, whatever shape its chunks have."""

from __future__ import annotations

import time
from typing import Any

from trio_core.engines.thinking import ThinkingFilter, split_thinking
from trio_core.values import Completion, TokenReading, Usage


class ReplyReader:
    """Takes the chunks of one reply. `logprobs` holds the entries of the answer's tokens where the server sends them.

    `plain`: a continued raw text, in which nothing is taken for reasoning.
    """

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain
        self.tokens: list[TokenReading] = []
        self.raw = ""
        self.reasoning = ""
        self.finish_reason: str | None = None
        self.usage = Usage()
        self.logprobs: list[Any] = []
        self.first_token_s: float | None = None
        self._started = time.monotonic()
        self._filter = ThinkingFilter()

    @property
    def begun(self) -> bool:
        """True once the model has written anything."""
        return self.first_token_s is not None

    def feed(self, chunk: Any) -> str:
        """Takes one chunk and returns the text to show. Chunks without choices, content or role are normal."""
        self._read_usage(chunk)
        choices = getattr(chunk, "choices", None)
        if not choices:
            return ""
        choice = choices[0]
        self.finish_reason = getattr(choice, "finish_reason", None) or self.finish_reason
        entries = getattr(getattr(choice, "logprobs", None), "content", None)
        self.logprobs.extend(entries or [])
        if self.plain:
            return self._feed_plain(choice)
        delta = getattr(choice, "delta", None)
        thought = getattr(delta, "reasoning", None) or getattr(delta, "reasoning_content", None)
        content = getattr(delta, "content", None)
        if isinstance(thought, str):
            self.reasoning += thought
        if not isinstance(content, str):
            content = ""
        if (content or thought) and self.first_token_s is None:
            self.first_token_s = time.monotonic() - self._started
        self.raw += content
        return self._filter.feed(content) if content else ""

    def _feed_plain(self, choice: Any) -> str:
        self.tokens.extend(read_tokens(getattr(choice, "logprobs", None)))
        text = getattr(choice, "text", None) or ""
        if text and self.first_token_s is None:
            self.first_token_s = time.monotonic() - self._started
        self.raw += text
        return str(text)

    def rest(self) -> str:
        """Text that was held back and turns out to be part of the answer."""
        return self._filter.rest()

    def completion(self, model: str, adapter: str | None) -> Completion:
        """The finished reply."""
        text, thought = (self.raw, "") if self.plain else split_thinking(self.raw)
        reasoning = "\n".join(part for part in (self.reasoning.strip(), thought) if part)
        return Completion(text=text, reasoning=reasoning, finish_reason=self.finish_reason or "stop", usage=self.usage,
                          first_token_s=self.first_token_s, seconds=time.monotonic() - self._started, model=model,
                          adapter=adapter, mean_logprob=self._mean_logprob(), tokens=tuple(self.tokens))

    def _mean_logprob(self) -> float | None:
        if self.tokens:
            return sum(token.logprob for token in self.tokens) / len(self.tokens)
        shown = [value for entry in self.logprobs if (value := getattr(entry, "logprob", None)) is not None]
        return sum(shown) / len(shown) if shown else None

    def _read_usage(self, chunk: Any) -> None:
        usage = getattr(chunk, "usage", None)
        timings = (getattr(chunk, "model_extra", None) or {}).get("timings") or {}
        cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
        if cached is None:
            cached = timings.get("cache_n", self.usage.cached_tokens)
        prompt = getattr(usage, "prompt_tokens", None) or self.usage.prompt_tokens
        written = getattr(usage, "completion_tokens", None) or self.usage.completion_tokens
        self.usage = Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=written)


def read_tokens(logprobs: Any) -> list[TokenReading]:
    """Tokens of a raw completion's chunk: lists side by side (vLLM, OpenAI) or entries as in a chat (llama.cpp)."""
    entries = getattr(logprobs, "content", None)
    if isinstance(entries, list):
        return [_entry(e) for e in entries if isinstance(e, dict) and e.get("logprob") is not None]
    texts, values = getattr(logprobs, "tokens", None) or [], getattr(logprobs, "token_logprobs", None) or []
    tops = getattr(logprobs, "top_logprobs", None) or [None] * len(texts)
    return [TokenReading(text=t, logprob=v, top=top or {}) for t, v, top in zip(texts, values, tops, strict=False) if v is not None]


def _entry(entry: dict[str, Any]) -> TokenReading:
    top = {t["token"]: t["logprob"] for t in entry.get("top_logprobs") or [] if t.get("logprob") is not None}
    return TokenReading(text=entry.get("token", ""), logprob=entry["logprob"], top=top)
