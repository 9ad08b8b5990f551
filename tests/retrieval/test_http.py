"""The HTTP retriever against a small local server that misbehaves on demand."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from trio_core.errors import InputError, RetrieverError, SettingsError
from trio_core.retrieval.http import HttpRetriever
from trio_core.settings import HttpRetrieverSettings


class Stub:
    """Answers every POST with `reply` (status, body); remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.replies: list[tuple[int, Any]] = []
        self.delay_s = 0.0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stub.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                time.sleep(stub.delay_s)
                status, body = stub.replies.pop(0) if len(stub.replies) > 1 else stub.replies[0]
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/retrieve"

    def retriever(self, **settings: Any) -> HttpRetriever:
        return HttpRetriever(HttpRetrieverSettings(url=self.url, **settings))


@pytest.fixture
def stub() -> Iterator[Stub]:
    stub = Stub()
    yield stub
    stub.server.shutdown()
    stub.server.server_close()


def document(n: int, **more: Any) -> dict[str, Any]:
    return {"id": str(n), "contents": f'"Title {n}"\nText {n}.', **more}


async def test_protocol_of_search_r1(stub: Stub) -> None:
    stub.replies = [(200, {"result": [[{"document": document(7), "score": 0.5}], []]})]
    retriever = stub.retriever()
    first, second = await retriever.search(["a", "b"], 1)
    assert stub.requests == [{"queries": ["a", "b"], "topk": 1, "return_scores": True}]
    [hit] = first.hits
    assert (hit.passage.id, hit.passage.title, hit.passage.text, hit.score, hit.rank) == ("7", "Title 7", "Text 7.", 0.5, 1)
    assert second.hits == () and second.note == "0 of 1 passages found"
    assert retriever.passages(["7"]) == [] and retriever.identity()["url"] == stub.url
    await retriever.close()


@pytest.mark.parametrize(
    ("item", "title", "text", "score"),
    [
        ({"document": {"contents": '"T"\nBody'}}, "T", "Body", None),
        ({"document": {"contents": "Body only"}, "score": None}, "", "Body only", None),
        ({"contents": "T\nBody"}, "T", "Body", None),
        ({"title": "T", "text": "Body"}, "T", "Body", None),
        ({"document": {"title": "T", "text": "Body", "contents": "T\nBody"}, "score": 3}, "T", "Body", 3.0),
        ("T\nBody", "T", "Body", None),
        ({"document": "T\nBody", "score": "high"}, "T", "Body", None),
    ],
)
async def test_variants_of_documents(stub: Stub, item: Any, title: str, text: str, score: float | None) -> None:
    stub.replies = [(200, {"result": [[item]]})]
    [[hit]] = [result.hits for result in await stub.retriever().search(["q"], 1)]
    assert (hit.passage.title, hit.passage.text, hit.score) == (title, text, score)
    [[again]] = [result.hits for result in await stub.retriever().search(["q"], 1)]
    assert hit.passage.id == again.passage.id and hit.passage.id.startswith("sha256:")


async def test_too_many_and_unusable_documents(stub: Stub) -> None:
    items = [{"document": document(0)}, 5, {"document": {"id": "x"}}, *({"document": document(n)} for n in range(1, 9))]
    stub.replies = [(200, {"result": [items]})]
    [result] = await stub.retriever().search(["q"], 3)
    assert [hit.passage.id for hit in result.hits] == ["0", "1", "2"]
    assert result.note == "2 unusable documents left out"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, "not here", "answered 404: 'not here'"),
        (422, {"detail": "topk"}, "answered 422"),
        (200, "<html>", "no JSON but '<html>'"),
        (200, {"results": []}, r"expected .*got the keys \['results'\]"),
        (200, [1], "got list"),
        (200, {"result": [[], []]}, "2 lists for 1 queries"),
    ],
)
async def test_replies_that_are_no_protocol(stub: Stub, status: int, body: Any, said: str) -> None:
    stub.replies = [(status, body)]
    with pytest.raises(RetrieverError, match=f"retriever {stub.url} .*{said}"):
        await stub.retriever().search(["q"], 1)
    assert len(stub.requests) == 1


async def test_passing_trouble_is_tried_again(stub: Stub) -> None:
    stub.replies = [(503, "busy"), (200, {"result": [[{"document": document(1)}]]})]
    [result] = await stub.retriever(retries=1).search(["q"], 1)
    assert len(result.hits) == 1 and len(stub.requests) == 2


async def test_slow_server(stub: Stub) -> None:
    stub.replies, stub.delay_s = [(200, {"result": [[]]})], 0.5
    with pytest.raises(RetrieverError, match=r"within 0\.1 s"):
        await stub.retriever(timeout_s=0.1).search(["q"], 1)


async def test_nobody_there_and_no_secret_in_the_message() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    retriever = HttpRetriever(HttpRetrieverSettings(url=f"http://me:secret@127.0.0.1:{port}/retrieve?key=secret", retries=1))
    with pytest.raises(RetrieverError, match=rf"127\.0\.0\.1:{port}/retrieve cannot be reached .*2 attempts") as caught:
        await retriever.search(["q"], 1)
    assert "secret" not in str(caught.value) and "secret" not in str(retriever.identity())


async def test_bad_input_and_bad_address(stub: Stub) -> None:
    stub.replies = [(200, {"result": [[{"document": document(1)}]]})]
    with pytest.raises(InputError, match="got 0"):
        await stub.retriever().search(["q"], 0)
    blank, asked = await stub.retriever().search([" ", "q"], 1)
    assert (blank.note, len(asked.hits), stub.requests[-1]["queries"]) == ("the query is empty", 1, ["q"])
    for url in ("ftp://x/y", "127.0.0.1:8000", ""):
        with pytest.raises(SettingsError, match="no http address"):
            HttpRetriever(HttpRetrieverSettings(url=url))
