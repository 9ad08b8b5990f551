"""The server's routes beside chat: model list, context size, tokenizer, health, adapters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import httpx

from trio_core.errors import EngineBroken, EngineUnreachable

CHARS_PER_TOKEN = 4
CACHED_TEXTS = 4096


class ServerRoutes:
    """Calls to one server's JSON routes. `root` is the address without `/v1`."""

    def __init__(self, base_url: str, api_key: str, connect_s: float, answer_s: float = 30.0) -> None:
        self.root = base_url.rstrip("/").removesuffix("/v1")
        timeout = httpx.Timeout(answer_s, connect=connect_s)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.AsyncClient(base_url=self.root, timeout=timeout, headers=headers, trust_env=False)

    async def request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """One request, whatever its status. Raises EngineUnreachable, EngineBroken."""
        try:
            try:
                return await self._http.request(method, path, json=body)
            except httpx.RemoteProtocolError:
                # A server that closes an idle connection just as it is used again looks like this; these routes may be asked twice.
                return await self._http.request(method, path, json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise EngineUnreachable(f"no model server answers at {self.root}; start it, or set engine.base_url to the "
                                    "address of one that runs") from error
        except httpx.HTTPError as error:
            raise EngineBroken(f"the model server at {self.root} broke off {method} {path} ({type(error).__name__})") from error

    async def json(self, method: str, path: str, body: Any = None) -> Any:
        """The reply's JSON, or None where the server lacks the route or sends something else."""
        response = await self.request(method, path, body)
        if response.status_code != 200:
            return None
        try:
            return response.json()
        except ValueError:
            return None

    async def models(self) -> list[dict[str, Any]]:
        """The models that the server lists (LoRA adapters of vLLM among them)."""
        listed = await self.json("GET", "/v1/models")
        data = listed.get("data") if isinstance(listed, dict) else None
        return [m for m in data if isinstance(m, dict) and m.get("id")] if isinstance(data, list) else []

    async def close(self) -> None:
        """Frees the connections."""
        await self._http.aclose()


class TokenCounter:
    """Counts tokens with the server's own tokenizer; remembers texts, since pools repeat them round after round."""

    routes: ServerRoutes
    """The server to ask; changes when the server comes back at another address."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, int] = OrderedDict()
        self._route = "unknown"

    async def count(self, text: str, model: str) -> int:
        """Tokens of `text`; an estimate from its length where the server has no tokenizer route."""
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        tokens = await self.tokens(text, model)
        count = len(tokens) if tokens is not None else -(-len(text) // CHARS_PER_TOKEN)
        if self._route == "unknown":
            return count
        self._known[text] = count
        if len(self._known) > CACHED_TEXTS:
            self._known.popitem(last=False)
        return count

    async def tokens(self, text: str, model: str) -> list[int] | None:
        """Token ids of `text`, or None where the server cannot tell."""
        bodies = {
            "llama.cpp": {"content": text, "add_special": False},
            "vllm": {"prompt": text, "model": model, "add_special_tokens": False},
        }
        for name, body in bodies.items():
            if self._route not in ("unknown", name):
                continue
            reply = await self.routes.json("POST", "/tokenize", body)
            ids = reply.get("tokens") if isinstance(reply, dict) else None
            # A server that ignores unknown fields answers a body it did not understand with no tokens.
            if isinstance(ids, list) and (ids or not text):
                self._route = name
                return [int(token) for token in ids]
        if self._route == "unknown":
            self._route = "none"
        return None
