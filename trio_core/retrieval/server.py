"""A server of our own that speaks Search-R1's protocol, so that other programs can search our indexes.

    POST /retrieve {"queries": ["…"], "topk": 3, "return_scores": true}
      -> {"result": [[{"document": {"id", "title", "text", "contents"}, "score"}, …], …]}    one list a query
      `return_scores` false (the protocol's default): bare documents. `topk` null: the server's own number.
    GET /health -> {"status": "ok", "index": {…}}

It has no accounts: whoever reaches the port may search, so it listens on this machine alone unless it is told otherwise.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trio_core.errors import InputError, TrioscopeError
from trio_core.retrieval.base import Retriever, SearchResult
from trio_core.retrieval.records import contents
from trio_core.values import Hit, Value

log = logging.getLogger(__name__)
KEYS = ("queries", "topk", "return_scores")


class Limits(Value):
    """What one request may ask."""

    body_bytes: int = 1 << 20
    queries: int = 256
    query_chars: int = 4000
    max_topk: int = 100
    topk: int = 3
    """Where the request names none (Search-R1's own default)."""


class _Refused(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def search_app(retriever: Retriever, limits: Limits | None = None) -> Starlette:
    """The ASGI app over a retriever, which stays the caller's to close."""
    allowed = limits or Limits()

    async def retrieve(request: Request) -> Response:
        try:
            queries, k, scored = _read(await _body(request, allowed.body_bytes), allowed)
            results = await retriever.search(queries, k)
        except _Refused as refused:
            return JSONResponse({"detail": refused.detail}, refused.status)
        except ClientDisconnect:
            return Response(status_code=400)
        except InputError as error:
            return JSONResponse({"detail": str(error)}, 422)
        except TrioscopeError as error:
            log.warning("search failed: %s", error)
            return JSONResponse({"detail": str(error)}, 502)
        return JSONResponse({"result": [_hits(result, scored) for result in results]})

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok", "index": json.loads(json.dumps(retriever.identity(), default=str))})

    return Starlette(routes=[Route("/retrieve", retrieve, methods=["POST"]), Route("/health", health)])


async def _body(request: Request, limit: int) -> bytes:
    """Read piece by piece, so that a long body is refused before it lies in memory."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise _Refused(413, f"the request is longer than {limit:,} bytes; ask for fewer or shorter queries")
    return bytes(body)


def _read(body: bytes, limits: Limits) -> tuple[list[str], int, bool]:
    """(queries, k, with scores). Raises _Refused, which says what was wrong."""
    try:
        wish = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refused(400, "the body is no JSON; send {\"queries\": [\"…\"], \"topk\": 3, \"return_scores\": true}") from error
    if not isinstance(wish, dict):
        raise _Refused(422, f"the body must be an object with {', '.join(KEYS)}, got a {type(wish).__name__}")
    queries = wish.get("queries")
    if not isinstance(queries, list) or not queries or not all(isinstance(q, str) for q in queries):
        raise _Refused(422, "queries must be a list of at least one text")
    if len(queries) > limits.queries:
        raise _Refused(422, f"{len(queries):,} queries are too many for one request; at most {limits.queries}")
    for number, query in enumerate(queries):
        if len(query) > limits.query_chars:
            raise _Refused(422, f"query {number} has {len(query):,} characters; at most {limits.query_chars:,}")
    k = wish.get("topk")
    k = limits.topk if k is None else k
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= limits.max_topk:
        raise _Refused(422, f"topk must be a whole number from 1 to {limits.max_topk}, got {json.dumps(k)[:80]}")
    scored = wish.get("return_scores", False)
    if not isinstance(scored, bool):
        raise _Refused(422, f"return_scores must be true or false, got {json.dumps(scored)[:80]}")
    return queries, k, scored


def _hits(result: SearchResult, scored: bool) -> list[dict[str, Any]]:
    documents = [_document(hit) for hit in result.hits]
    return [{"document": d, "score": h.score} for d, h in zip(documents, result.hits, strict=True)] if scored else documents


def _document(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    return {"id": passage.id, "title": passage.title, "text": passage.text, "contents": contents(passage)}
