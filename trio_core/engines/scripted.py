"""An engine that answers from a script: for tests and for working on the pages without a model."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Union

import yaml
from pydantic import ValidationError

from trio_core import errors
from trio_core.engines.base import JudgeAdapter
from trio_core.errors import ScriptExhausted, SettingsError
from trio_core.values import Capabilities, ChatCall, Completion, TokenReading, Usage, Value, VerdictReading

ANY_ROLE = "*"
BARE = ""


class Reply(Value):
    """One scripted reply. `error` names a class of `trio_core.errors`, raised after `text` has been streamed."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = "stop"
    delay_s: float = 0.0
    p_sufficient: float | None = None
    mean_logprob: float | None = None
    tokens: tuple[TokenReading, ...] = ()
    error: str | None = None
    message: str = "scripted error"


ReplyLike = Union[Reply, str, Mapping[str, Any]]
Rule = Callable[[ChatCall], ReplyLike]
Script = Union[Rule, Mapping[str, Iterable[ReplyLike]], Iterable[ReplyLike]]


class ScriptedEngine:
    """Replies by role from queues, or from a rule (a function of the call). Streams word by word.

    A list serves every role in order; a mapping serves each role its own queue, `*` any other role.
    `calls` keeps all calls for tests; `judge` follows `use_judge`.
    """

    def __init__(self, script: Script, *, word_delay_s: float = 0.0, context_tokens: int | None = 8192) -> None:
        self.judge = JudgeAdapter()
        self.calls: list[ChatCall] = []
        self.word_delay_s = word_delay_s
        self.context_tokens = context_tokens
        self._asked: Counter[str] = Counter()
        self._rule: Rule | None = script if callable(script) else None
        self._queues = {} if callable(script) else _queues(script)

    @classmethod
    def from_file(cls, path: Path, *, word_delay_s: float = 0.0) -> ScriptedEngine:
        """Reads a YAML script: a list of replies, or `role: [replies]`. Raises SettingsError."""
        try:
            script = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise SettingsError(f"script {str(path)!r} cannot be read as YAML: {error}") from error
        if not isinstance(script, (list, dict)):
            raise SettingsError(f"script {str(path)!r} must hold a list of replies, or lists of replies by role")
        return cls(script, word_delay_s=word_delay_s)

    async def start(self) -> None:
        """Nothing to bring up."""

    async def close(self) -> None:
        """Nothing to end."""

    async def probe(self) -> Capabilities:
        """What a script can do."""
        return Capabilities(model="scripted", context_tokens=self.context_tokens, verdict="choice", logprobs=True, raw=True,
                            notes=("replies come from a script; nothing here is a result",))

    async def stream(self, call: ChatCall) -> AsyncGenerator[str | Completion, None]:
        """Yields the scripted text word by word, then the Completion. Raises ScriptExhausted or the scripted error."""
        reply, started = self._next(call), time.monotonic()
        await asyncio.sleep(reply.delay_s)
        first: float | None = None
        for word in re.findall(r"\s*\S+\s*$|\s*\S+", reply.text):
            await asyncio.sleep(self.word_delay_s)
            first = time.monotonic() - started if first is None else first
            yield word
        _raise_scripted(reply)
        yield self._completion(call, reply, first, time.monotonic() - started)

    async def verdict(self, call: ChatCall) -> VerdictReading:
        """The next scripted reply with its `p_sufficient`."""
        reply, started = self._next(call), time.monotonic()
        await asyncio.sleep(reply.delay_s + self.word_delay_s * len(reply.text.split()))
        _raise_scripted(reply)
        seconds = time.monotonic() - started
        known = reply.p_sufficient is not None
        return VerdictReading(completion=self._completion(call, reply, seconds, seconds), p_sufficient=reply.p_sufficient,
                              p_method="script" if known else "none", mass=1.0 if known else None)

    async def count_tokens(self, text: str) -> int:
        """An estimate: words and signs."""
        return _tokens(text)

    def describe(self, role: str) -> tuple[str, str | None]:
        """Model `scripted`; the judge's adapter is the live judge version."""
        live = role == "judge" and self.judge.name != JudgeAdapter().name
        return "scripted", self.judge.name if live else None

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """Takes note of the version; the script goes on."""
        self.judge = adapter

    def _next(self, call: ChatCall) -> Reply:
        self.calls.append(call)
        self._asked[call.role] += 1
        if self._rule is not None:
            return _reply(self._rule(call))
        queue = self._queues.get(call.role) or self._queues.get(ANY_ROLE)
        if not queue:
            raise ScriptExhausted(f"the script has no reply left for role {call.role!r} (call number "
                                  f"{self._asked[call.role]} of this role); add replies to the script")
        return queue.popleft()

    def _completion(self, call: ChatCall, reply: Reply, first: float | None, seconds: float) -> Completion:
        prompt = sum(_tokens(message.content) for message in call.messages)
        usage = Usage(prompt_tokens=prompt, cached_tokens=0, completion_tokens=_tokens(reply.text))
        model, adapter = self.describe(BARE if call.bare else call.role)
        return Completion(text=reply.text, reasoning=reply.reasoning, finish_reason=reply.finish_reason, usage=usage,
                          first_token_s=first, seconds=seconds, model=model, adapter=adapter,
                          mean_logprob=reply.mean_logprob if call.logprobs else None, tokens=reply.tokens if call.alternatives else ())


def _queues(script: Mapping[str, Iterable[ReplyLike]] | Iterable[ReplyLike]) -> dict[str, deque[Reply]]:
    by_role = script if isinstance(script, Mapping) else {ANY_ROLE: script}
    return {role: deque(_reply(reply) for reply in replies) for role, replies in by_role.items()}


def _reply(given: ReplyLike) -> Reply:
    if isinstance(given, Reply):
        return given
    try:
        return Reply(text=given) if isinstance(given, str) else Reply.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"scripted reply {given!r} is neither text nor a known set of fields: {error}") from error


def _raise_scripted(reply: Reply) -> None:
    if reply.error is None:
        return
    kind = getattr(errors, reply.error, None)
    if not (isinstance(kind, type) and issubclass(kind, errors.TrioscopeError)):
        raise SettingsError(f"scripted error {reply.error!r} is no error class of trio_core.errors")
    if issubclass(kind, errors.EngineBroken):
        raise kind(reply.message, partial=reply.text)
    raise kind(reply.message)


def _tokens(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))
