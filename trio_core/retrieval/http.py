"""A retriever behind HTTP, in one of the protocols of `http_profiles`.

Servers differ in what they return (no ids, no scores, bare documents, more than asked for, empty lists); all of that is
accepted. httpx is imported on first use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from trio_core.errors import RetrieverError, SettingsError
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.checks import checked_k, checked_queries
from trio_core.retrieval.http_profiles import profile_of
from trio_core.settings import HttpRetrieverSettings
from trio_core.values import Passage

if TYPE_CHECKING:
    import httpx

BACKOFF_S = 0.2
AT_ONCE = 8
"""Requests at once where a protocol takes one query each."""
TRY_AGAIN = (502, 503, 504)


class HttpRetriever:
    """Asks a remote retriever; searching changes nothing there, so failed connections are tried again."""

    def __init__(self, settings: HttpRetrieverSettings) -> None:
        parts = urlsplit(settings.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(f"retriever.http.url {settings.url!r} is no http address; example: http://127.0.0.1:8000/retrieve")
        self._settings = settings
        self._profile = profile_of(settings)
        # Shown in errors and stored with runs: without a user name, a password or keys in the query string.
        port = f":{parts.port}" if parts.port else ""
        self._shown = urlunsplit((parts.scheme, f"{parts.hostname}{port}", parts.path, "", ""))
        # A proxy of the environment must not get requests for this machine.
        self._local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        # Connections belong to the event loop that opened them.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query. Raises InputError (k, queries) and RetrieverError with the address and what to do."""
        k = checked_k(k)
        checked = checked_queries(queries)
        asked = [query for query in checked if query]
        answers = iter(await self._ask(asked, k) if asked else ())
        empty = SearchResult(hits=(), note="the query is empty")
        return [next(answers) if query else empty for query in checked]

    def identity(self) -> dict[str, Any]:
        """Address and protocol; what corpus stands behind it is not known."""
        return {"kind": "http", "url": self._shown, "profile": self._settings.profile}

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Always empty: the protocol has no look-up."""
        return []

    async def close(self) -> None:
        """Closes the connections of this event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> httpx.AsyncClient:
        import httpx

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = httpx.AsyncClient(timeout=self._settings.timeout_s, trust_env=not self._local)
        return self._clients[loop]

    async def _ask(self, queries: list[str], k: int) -> list[SearchResult]:
        bodies, some = self._profile.bodies(queries, k, self._settings), asyncio.Semaphore(AT_ONCE)

        async def post(body: dict[str, Any]) -> Any:
            async with some:
                return await self._post(body)

        replies = await asyncio.gather(*(post(body) for body in bodies))
        return self._profile.read(replies, len(queries), k, self._shown)

    async def _post(self, body: dict[str, Any]) -> Any:
        for attempt in range(self._settings.retries + 1):
            last = attempt == self._settings.retries
            response = await self._attempt(body, last)
            if response is not None and (last or response.status_code not in TRY_AGAIN):
                return self._json(response)
            await asyncio.sleep(BACKOFF_S * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, body: dict[str, Any], last: bool) -> httpx.Response | None:
        import httpx

        try:
            return await self._client().post(self._settings.url, json=body)
        except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
            raise RetrieverError(
                f"retriever {self._shown} did not answer within {self._settings.timeout_s:g} s; ask for fewer passages or "
                "raise retriever.http.timeout_s"
            ) from error
        except httpx.HTTPError as error:
            if not last:
                return None
            raise RetrieverError(
                f"retriever {self._shown} cannot be reached ({type(error).__name__}: {error}) after "
                f"{self._settings.retries + 1} attempts; start the server or correct retriever.http.url"
            ) from error

    def _json(self, response: httpx.Response) -> Any:
        if response.status_code != 200:
            raise RetrieverError(
                f"retriever {self._shown} answered {response.status_code}: {response.text[:200]!r}; check that "
                "retriever.http.url is its search address (Search-R1: …/retrieve), that retriever.http.profile fits, and look into "
                "the server's log"
            )
        try:
            return response.json()
        except ValueError as error:
            raise RetrieverError(
                f"retriever {self._shown} answered no JSON but {response.text[:80]!r}; check retriever.http.url"
            ) from error
