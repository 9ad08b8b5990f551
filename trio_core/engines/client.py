"""The HTTP client of any OpenAI-compatible server: always streaming, with our own limits, closed on cancel."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx2
import openai

from trio_core.engine_settings import EngineSettings, RoleSettings
from trio_core.engines.base import JudgeAdapter
from trio_core.engines.failures import CLIENT_ERRORS, refuses_system_role, translate
from trio_core.engines.limits import CallClock, CutShort
from trio_core.engines.reply import ReplyReader
from trio_core.engines.routes import ServerRoutes, TokenCounter
from trio_core.engines.thinking import cut_at_stop
from trio_core.engines.verdict import (
    LABELS,
    Constraint,
    LabelTokens,
    constraint_body,
    forced_body,
    label_prefixes,
    label_tokens,
    read_forced,
    read_verdict,
)
from trio_core.engines.wire import raw_body, request_body
from trio_core.errors import EngineBroken, EngineError, EngineTimeout, EngineUnreachable, PromptTooLong
from trio_core.values import Capabilities, ChatCall, Completion, VerdictReading

RETRY_PAUSE_S = 0.5
BARE = ""
"""A role without settings: the server's default model without an adapter."""
LOGPROBS: dict[str, Any] = {"logprobs": True, "top_logprobs": 1}
"""One alternative: with none, llama.cpp shows no log-probabilities at all."""


class OpenAIEngine:
    """An engine over one OpenAI-compatible address. Use it from one event loop.

    `address` overrides `settings.base_url`, `api_key` the key of the environment (servers that the app starts).
    """

    def __init__(self, settings: EngineSettings, *, address: str | None = None, api_key: str | None = None) -> None:
        self.settings = settings
        self.judge = JudgeAdapter()
        self.capabilities: Capabilities | None = None
        self._api_key = os.environ.get(settings.api_key_env, "") if api_key is None else api_key
        self._listed_model = ""
        self._label_tokens: LabelTokens | None = None
        self._without_system: set[str] = set()
        self._thinking: set[str] = set()
        self._probing = asyncio.Lock()
        self._counter = TokenCounter()
        self._connect(address or settings.base_url)

    def _connect(self, address: str) -> None:
        self.address = address
        self.routes = ServerRoutes(address, self._api_key, self.settings.connect_s)
        self._counter.routes = self.routes
        # Retries and limits are ours: the library would retry twice and wait ten minutes for each read.
        self._client = openai.AsyncOpenAI(
            base_url=address, api_key=self._api_key or "none", max_retries=0,
            timeout=httpx2.Timeout(None, connect=self.settings.connect_s))

    async def start(self) -> None:
        """Nothing to bring up: the server is someone else's, and may come later than the app."""

    async def close(self) -> None:
        """Frees the connections."""
        await self._client.close()
        await self.routes.close()

    async def probe(self) -> Capabilities:
        """What the server can do; kept after the first success. Raises EngineError subclasses."""
        from trio_core.engines.probe import probe_server

        async with self._probing:
            if self.capabilities is None:
                self.capabilities = await probe_server(self)
        return self.capabilities

    async def stream(self, call: ChatCall) -> AsyncGenerator[str | Completion, None]:
        """Yields text, then the Completion. Raises EngineError subclasses; retries only while nothing was written."""
        call, reply = self._by_role(call), ReplyReader(plain=call.raw)
        shown = call.logprobs and not call.raw and self.capabilities is not None and self.capabilities.logprobs
        async with aclosing(self.run(call, LOGPROBS if shown else {}, reply)) as texts:
            async for text in texts:
                yield text
        done = await self._completion(call, reply)
        yield cut_at_stop(done, call.stop) if not call.raw and self.thinks(served_role(call)) else done

    async def verdict(self, call: ChatCall) -> VerdictReading:
        """One of the two labels, constrained as the probe found out. Streamed, so that a cancel reaches the server."""
        kind = (await self.probe()).verdict
        return await self.read_verdict(call, kind)

    async def read_verdict(self, call: ChatCall, kind: Constraint) -> VerdictReading:
        """A verdict with a given constraint (the probe tries them). Temperature 0: the likelier label is written."""
        completion, logprobs = await self.labelled(call, kind)
        tokens = await self.label_tokens()
        reading = read_verdict(completion, logprobs, kind, tokens)
        if kind == "grammar" and reading.p_sufficient is None and logprobs and tokens.known:
            return await self._forced(call, reading, tokens)
        return reading

    async def labelled(self, call: ChatCall, kind: Constraint) -> tuple[Completion, list[Any]]:
        """The reply to a constrained call and its tokens' log-probabilities (empty where the server sends none)."""
        call, reply = self._by_role(call).model_copy(update={"temperature": 0.0}), ReplyReader()
        if kind in ("grammar", "choice"):
            call = call.model_copy(update={"max_tokens": max(call.max_tokens, 8), "stop": ()})
        await self._exhaust(call, constraint_body(kind), reply)
        return await self._completion(call, reply), reply.logprobs

    async def _forced(self, call: ChatCall, reading: VerdictReading, tokens: LabelTokens) -> VerdictReading:
        """A label was too unlikely for the top list: one more token, forced, shows both (the prompt is cached)."""
        reply = ReplyReader()
        once = call.model_copy(update={"temperature": 1.0, "max_tokens": 1, "stop": ()})
        await self._exhaust(once, forced_body(tokens), reply)
        p = read_forced(reply.logprobs, tokens)
        return reading if p is None else reading.model_copy(update={"p_sufficient": p, "p_method": "forced-logprobs"})

    async def _exhaust(self, call: ChatCall, extra: dict[str, Any], reply: ReplyReader) -> None:
        async with aclosing(self.run(call, extra, reply)) as texts:
            async for _ in texts:
                pass

    async def label_tokens(self) -> LabelTokens:
        """The tokens that begin the labels, found with the server's tokenizer; empty where it has none."""
        if self._label_tokens is None:
            prefixes = [prefix for label in LABELS for prefix in label_prefixes(label)]
            model = await self.model_for("judge")
            self._label_tokens = label_tokens({p: await self._counter.tokens(p, model) for p in prefixes})
        return self._label_tokens

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` with the server's tokenizer (kept), or about a quarter of its characters."""
        return await self._counter.count(text, await self.model_for(""))

    def describe(self, role: str) -> tuple[str, str | None]:
        """Model and adapter that serve a role; the model is empty until the server has been asked for its list."""
        chosen = self._role(role)
        return chosen.model or self.settings.model or self._listed_model, self._adapter(role)

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """Only `zero-shot` and versions without an adapter can go live here. Raises EngineError otherwise."""
        if adapter.peft_dir or adapter.gguf:
            raise EngineError(f"judge version {adapter.name!r} cannot go live: the server at {self.address} is not ours, so no "
                              "adapter can be loaded; use engine.kind embedded or vllm")
        self.judge = adapter

    async def model_for(self, role: str) -> str:
        """Model name to send for a role: its adapter (servers list adapters as models), its model, or the first listed."""
        if name := self._adapter(role) or self.describe(role)[0]:
            return name
        listed = await self.routes.models()
        if not listed:
            raise EngineBroken(f"the server at {self.address} lists no models at /v1/models; set engine.model, and check "
                               "that engine.base_url ends in /v1")
        self._listed_model = str(listed[0]["id"])
        return self._listed_model

    def without_system(self, model: str) -> bool:
        """True once a model has refused the system role."""
        return model in self._without_system

    def thinks(self, role: str) -> bool:
        """True where the role's model has been seen to reason before it answers (the probe's call shows it), or is said to."""
        return self.settings.thinks if self.settings.thinks is not None else self.describe(role)[0] in self._thinking

    def _role(self, role: str) -> RoleSettings:
        return self.settings.roles.get(role) or RoleSettings()

    def _adapter(self, role: str) -> str | None:
        return self._role(role).adapter

    def _extra(self, role: str) -> dict[str, Any]:
        """Body fields that a kind of server wants in every request."""
        return {}

    def _by_role(self, call: ChatCall) -> ChatCall:
        chosen = self._role(call.role)
        temperature = None if call.own_temperature else chosen.temperature
        given = {"temperature": temperature, "max_tokens": chosen.max_tokens}
        return call.model_copy(update={name: value for name, value in given.items() if value is not None})

    async def _completion(self, call: ChatCall, reply: ReplyReader) -> Completion:
        role = served_role(call)
        model = self.describe(role)[0] or await self.model_for(role)
        done = reply.completion(model, self._adapter(role))
        if done.reasoning:
            self._thinking.add(model)
        if not reply.begun and done.finish_reason == "length" and not done.usage.completion_tokens:
            # Old servers answer a prompt that fills the context with nothing and HTTP 200 (vllm#525).
            raise PromptTooLong(f"the server at {self.address} wrote nothing and says 'length': the prompt "
                                f"({done.usage.prompt_tokens or 'unknown'} tokens) fills its context. Use fewer or shorter passages")
        return done

    async def run(self, call: ChatCall, extra: dict[str, Any], reply: ReplyReader) -> AsyncGenerator[str, None]:
        """Yields the text of one call into `reply`, after retries. `extra` are further body fields."""
        clock = CallClock(self.settings, self.address)
        for retries_left in range(self.settings.retries, -1, -1):
            try:
                async with aclosing(self._attempt(call, extra, reply, clock)) as texts:
                    async for text in texts:
                        yield text
                return
            except (EngineUnreachable, EngineBroken):
                if reply.begun or not retries_left:
                    raise
            await asyncio.sleep(RETRY_PAUSE_S)

    async def _attempt(self, call: ChatCall, extra: dict[str, Any], reply: ReplyReader, clock: CallClock) -> AsyncGenerator[str, None]:
        stream = await self._open(call, extra, clock)
        try:
            chunks = aiter(stream)
            while (chunk := await self._next(chunks, reply, clock)) is not None:
                if text := reply.feed(chunk):
                    yield text
            if reply.finish_reason is None:
                raise EngineBroken(f"the reply of the server at {self.address} ended without a finish reason; it was cut "
                                   "off, or the address is no chat API. Run it again", reply.raw)
            if rest := reply.rest():
                yield rest
        finally:
            await stream.close()

    async def _open(self, call: ChatCall, extra: dict[str, Any], clock: CallClock) -> Any:
        role = served_role(call)
        model = await clock.wait(self.model_for(role), begun=False)
        own = self._extra(role)
        if call.stop and not call.raw and self.thinks(role):
            # Servers look for stop strings in the reasoning too, and would cut it before any answer (vllm#14170).
            call = call.model_copy(update={"stop": ()})
        merged = {**extra, "extra_body": {**own, **extra.get("extra_body", {})}}
        try:
            if call.raw:
                merged["extra_body"] = {**merged["extra_body"], "skip_special_tokens": False}
                return await clock.wait(self._client.completions.create(**raw_body(call, model), **merged), begun=False)
            for merge_system in (self.without_system(model), True):
                body = {**request_body(call, model, merge_system=merge_system), **merged}
                try:
                    return await clock.wait(self._client.chat.completions.create(**body), begun=False)
                except openai.BadRequestError as error:
                    if merge_system or not refuses_system_role(error):
                        raise
                    self._without_system.add(model)
        except CLIENT_ERRORS as error:
            raise translate(error, self.settings, self.address, "") from error

    async def _next(self, chunks: Any, reply: ReplyReader, clock: CallClock) -> Any:
        try:
            return await clock.wait(anext(chunks, None), begun=reply.begun)
        except EngineTimeout as error:
            if not reply.begun:
                raise
            raise CutShort(str(error), reply.raw) from error
        except CLIENT_ERRORS as error:
            raise translate(error, self.settings, self.address, reply.raw) from error


def served_role(call: ChatCall) -> str:
    """The role whose model and adapter answer; no role has the name that a bare call goes by."""
    return BARE if call.bare else call.role
