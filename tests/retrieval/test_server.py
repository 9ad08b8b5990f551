"""Our search server: a client written from the protocol alone, our own client, odd requests, limits, the command."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from trio_core.errors import RetrieverError
from trio_core.retrieval.bm25 import Bm25Retriever
from trio_core.retrieval.http import HttpRetriever
from trio_core.retrieval.server import Limits, search_app
from trio_core.settings import HttpRetrieverSettings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def address(indexed: Path) -> AsyncIterator[str]:
    retriever = Bm25Retriever.open(indexed)
    limits = Limits(body_bytes=2000, queries=3, query_chars=100, max_topk=10, topk=2)
    server = uvicorn.Server(uvicorn.Config(search_app(retriever, limits), port=0, log_level="warning"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    await task
    await retriever.close()


async def post(address: str, **body: Any) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(f"{address}/retrieve", **body)


async def test_an_independent_client(address: str) -> None:
    """As METHODS.md describes the protocol."""
    reply = await post(address, json={"queries": ["capital of Italy", "novel desert planet"], "topk": 1, "return_scores": True})
    assert reply.status_code == 200
    rome, dune = reply.json()["result"]
    assert [item["document"]["id"] for item in (rome[0], dune[0])] == ["2", "3"]
    assert rome[0]["document"]["contents"] == '"Rome"\nRome is the capital of Italy and lies on the Tiber.'
    assert isinstance(rome[0]["score"], float) and rome[0]["score"] > 0 and len(rome) == 1


async def test_defaults_of_the_protocol(address: str) -> None:
    reply = await post(address, json={"queries": ["capital"], "topk": None})
    [bare] = reply.json()["result"]
    assert [document["id"] for document in bare] == ["1", "2"] and "score" not in bare[0]


async def test_our_own_client_reads_the_same_passages(address: str, indexed: Path) -> None:
    there, here = HttpRetriever(HttpRetrieverSettings(url=f"{address}/retrieve")), Bm25Retriever.open(indexed)
    queries = ["capital of France", "Frank Herbert", "zzz"]
    remote, local = await there.search(queries, 2), await here.search(queries, 2)
    assert [[h.passage for h in r.hits] for r in remote] == [[h.passage for h in r.hits] for r in local]
    assert [h.score for h in remote[0].hits] == pytest.approx([h.score for h in local[0].hits])
    with pytest.raises(RetrieverError, match="topk must be a whole number from 1 to 10, got 11"):
        await there.search(["capital"], 11)
    await there.close()
    await here.close()


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "no JSON"),
        (b"\xff\xfe", 400, "no JSON"),
        (b"[" * 1500, 400, "no JSON"),
        (b"[1]", 422, "must be an object"),
        (b"{}", 422, "queries must be a list"),
        (b'{"queries": []}', 422, "at least one text"),
        (b'{"queries": "Paris"}', 422, "queries must be a list"),
        (b'{"queries": ["a", 5]}', 422, "queries must be a list"),
        (b'{"queries": ["a", "b", "c", "d"]}', 422, "4 queries are too many for one request; at most 3"),
        (b'{"queries": ["a", "' + b"x" * 101 + b'"]}', 422, "query 1 has 101 characters"),
        (b'{"queries": ["a"], "topk": 0}', 422, "got 0"),
        (b'{"queries": ["a"], "topk": -3}', 422, "got -3"),
        (b'{"queries": ["a"], "topk": 100000}', 422, "from 1 to 10, got 100000"),
        (b'{"queries": ["a"], "topk": "3"}', 422, 'got "3"'),
        (b'{"queries": ["a"], "topk": true}', 422, "got true"),
        (b'{"queries": ["a"], "return_scores": "yes"}', 422, "return_scores must be true or false"),
        (b'{"queries": ["' + b"x" * 3000 + b'"]}', 413, "longer than 2,000 bytes"),
    ],
)
async def test_what_cannot_be_asked_is_said_plainly(address: str, body: bytes, status: int, said: str) -> None:
    reply = await post(address, content=body)
    assert reply.status_code == status and said in reply.json()["detail"]


async def test_other_addresses_and_odd_texts(address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{address}/retrieve")).status_code == 405
        assert (await client.get(f"{address}/")).status_code == 404
        health = (await client.get(f"{address}/health")).json()
        assert health["status"] == "ok" and health["index"]["passages"] == 3
    reply = await post(address, content=b'{"queries": [" ", "\\ud83d\\ude00 \\u0000 \\ud83d"], "topk": 1}')  # a pair, a zero, half a pair
    assert reply.json()["result"] == [[], []]


async def test_a_retriever_that_fails_is_no_crash() -> None:
    class Broken:
        async def search(self, queries: Any, k: int) -> Any:
            raise RetrieverError("the index is gone")

        def identity(self) -> dict[str, Any]:
            return {}

    transport = httpx.ASGITransport(search_app(Broken()))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        reply = await client.post("/retrieve", json={"queries": ["a"]})
    assert (reply.status_code, reply.json()) == (502, {"detail": "the index is gone"})


def test_the_command_serves_and_refuses_a_port_in_use(three: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trio_core", "serve-search", "--kind", "bm25", "--corpus", str(three), "--set", f"data_dir={tmp_path}"]
    server = subprocess.Popen([*command, "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        assert url.startswith("http://127.0.0.1:")
        found = httpx.post(url, json={"queries": ["Tiber"], "return_scores": True}, trust_env=False).json()["result"]
        assert found[0][0]["document"]["id"] == "2"
        port = url.split(":")[2].split("/")[0]
        again = subprocess.run([*command, "--port", port], cwd=ROOT, capture_output=True, text=True, check=False)
        assert again.returncode == 2 and f"cannot listen on 127.0.0.1:{port}" in again.stderr
    finally:
        server.terminate()
        server.wait(20)
