"""An OpenAI-compatible server for tests: plain sockets, scripted behaviour, everything it was asked kept.

`replies` is a queue of `Behaviour`s; the last one serves for ever. Each says what to do with a chat request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LABEL_TOKENS = {"S": 50, "Su": 36459, "I": 40, "In": 641, "Ins": 15474}


@dataclass
class Behaviour:
    """One way to answer. `events` are the SSE payloads (dicts, or raw text); then `after`: end, cut, stall."""

    events: list[Any] = field(default_factory=list)
    after: str = "end"
    status: int = 200
    error: Any = None
    delay_s: float = 0.0
    gap_s: float = 0.0
    raw: bytes | None = None


def delta(content: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One chunk of a stream. `logprobs` belongs to the choice, any other field to the delta."""
    logprobs = more.pop("logprobs", None)
    choice = {"index": 0, "delta": {"content": content, **more}, "finish_reason": finish, "logprobs": logprobs}
    return {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "stub", "choices": [choice]}


def usage(prompt: int = 10, written: int = 2, cached: int | None = None) -> dict[str, Any]:
    """The closing chunk: no choices, usage only."""
    details = None if cached is None else {"cached_tokens": cached}
    counts = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written,
              "prompt_tokens_details": details}
    return {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "stub", "choices": [], "usage": counts}


def says(*words: str, finish: str = "stop", cached: int | None = None, **more: Any) -> Behaviour:
    """A plain reply, a chunk a word."""
    return Behaviour([delta(role="assistant"), *(delta(w) for w in words), delta(finish=finish), usage(cached=cached)], **more)


def verdict_says(text: str, top: list[dict[str, Any]] | None) -> Behaviour:
    """A reply whose first token has these alternatives; None = `logprobs: null`."""
    logprobs = None if top is None else {"content": [{**top[0], "top_logprobs": top}]}
    return Behaviour([delta(text, logprobs=logprobs), delta(finish="stop"), usage()])


class StubServer:
    """Use as an async context manager; `base_url` is its address, `bodies` the chat requests in order."""

    def __init__(self, *replies: Behaviour, context: int | None = 4096) -> None:
        self.replies = list(replies) or [says("Par", "is")]
        self.context = context
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.open_chats = 0
        self.tokenizer: str | None = "llama.cpp"
        self.drops = 0
        """So many requests are closed without an answer, as a server does with a connection it held idle for too long."""
        self.constrains: Callable[[dict[str, Any]], bool] = lambda body: False
        self.routes: dict[str, tuple[int, Any]] = {}

    async def __aenter__(self) -> StubServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, path, body = await self._request(reader)
            self.paths.append(f"{method} {path}")
            if self.drops:
                self.drops -= 1
                return
            if path == "/v1/chat/completions" or (path == "/v1/completions" and body.get("stream")):
                await self._chat(body, reader, writer)
            else:
                self._send(writer, *self._route(path, body))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> tuple[str, str, dict[str, Any]]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split(" ", 2)
        length = next((int(h.split(":")[1]) for h in head.split("\r\n") if h.lower().startswith("content-length")), 0)
        return method, path, json.loads(await reader.readexactly(length)) if length else {}

    def _route(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path in self.routes:
            return self.routes[path]
        if path == "/v1/models":
            return 200, {"data": [{"id": "stub", "max_model_len": self.context}]}
        if path == "/tokenize" and self.tokenizer:
            text = body.get("content" if self.tokenizer == "llama.cpp" else "prompt")
            return (200, {"tokens": _ids(text)}) if text is not None else (400, {"error": "bad body"})
        return 404, {"error": {"message": "no such route"}}

    async def _chat(self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.bodies.append(body)
        self.open_chats += 1
        try:
            work = asyncio.ensure_future(self._answer(body, writer))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            work.cancel()
        finally:
            self.open_chats -= 1

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if self.constrains(body):
            reply = verdict_says("Insufficient Information", [alternative("Ins", -0.2), alternative("S", -1.8)])
        await asyncio.sleep(reply.delay_s)
        if reply.raw is not None or reply.status != 200:
            self._send(writer, reply.status, reply.error, reply.raw)
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for event in reply.events:
            text = event if isinstance(event, str) else "data: " + json.dumps(event)
            writer.write(text.encode() + b"\n\n")
            await writer.drain()
            await asyncio.sleep(reply.gap_s)
        if reply.after == "stall":
            await asyncio.sleep(3600)
        if reply.after == "end":
            writer.write(b"data: [DONE]\n\n")
        await writer.drain()

    def _send(self, writer: asyncio.StreamWriter, status: int, body: Any, raw: bytes | None = None) -> None:
        content = raw if raw is not None else json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n"
                     "connection: close\r\n\r\n".encode() + content)


def alternative(token: str, logprob: float, **more: Any) -> dict[str, Any]:
    """One entry of a top list, as servers send it."""
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), **more}


def _ids(text: str) -> list[int]:
    """One token a word, or a character of a single word; the beginnings of the verdicts as in Qwen's tokenizer."""
    parts = text.split() if len(text.split()) > 1 else list(text)
    return [LABEL_TOKENS[text]] if text in LABEL_TOKENS else [1000 + n for n, _ in enumerate(parts)]
