"""People at an app that is killed again and again: they send anew what was not answered, as a person presses a button again."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.benchmarks.annotator_client import STATUS_S, Annotator, page_config

AGAIN_S = 0.3
PATIENCE_S = 600.0
"""Longest wait for what must come; nothing here measures speed."""


class Steadfast(Annotator):
    """Labels on through the app's deaths: the same form is sent until somebody answers."""

    async def _trigger(self, event_name: str, event: dict[str, Any] | None, elem_id: str = "annotate") -> dict[str, Any]:
        while True:
            try:
                return await super()._trigger(event_name, event, elem_id)
            except httpx.TransportError:
                await asyncio.sleep(AGAIN_S)

    async def _ask_for_status(self) -> None:
        while True:
            try:
                await super()._ask_for_status()
            except httpx.TransportError:
                await asyncio.sleep(STATUS_S)


class Page:
    """A page of the app as its script uses it, in a session of its own."""

    def __init__(self, client: httpx.AsyncClient, config: dict[str, Any]) -> None:
        self._client, self._config = client, config
        self._session = uuid.uuid4().hex[:11]

    async def press(self, elem_id: str, event: str, data: list[Any] | None = None, event_data: Any = None, first: Any = None) -> list[Any]:
        """One event of a component; what its outputs get. Without `data` inputs keep the page's values; `first` is the first's."""
        target = [self._component(elem_id)["id"], event]
        found = next(d for d in self._config["dependencies"] if target in d["targets"])
        if first is not None:
            values = self._values()
            data = [first, *(values.get(i) for i in found["inputs"][1:])]
        return await self._call(found, data, event_data)

    async def load(self) -> None:
        """What a browser does when the page is there: lists get their choices."""
        for found in self._config["dependencies"]:
            if any(event == "load" for _, event in found["targets"]):
                await self._call(found, None, None)

    async def status(self) -> str:
        """The engine's line in the header, as HTML."""
        reply = await self._client.post("/gradio_api/component_server/", json={
            "data": None, "component_id": self._component("ts-header")["id"], "fn_name": "status", "session_hash": self._session})
        reply.raise_for_status()
        return str(reply.json())

    async def _call(self, found: dict[str, Any], data: list[Any] | None, event_data: Any) -> list[Any]:
        values = self._values()
        reply = await self._client.post("/gradio_api/run/predict", json={
            "data": [values.get(i) for i in found["inputs"]] if data is None else data, "event_data": event_data, "fn_index": found["id"],
            "trigger_id": None, "session_hash": self._session})
        reply.raise_for_status()
        return list(reply.json()["data"])

    def _values(self) -> dict[int, Any]:
        return {c["id"]: c["props"].get("value") for c in self._config["components"]}

    def _component(self, elem_id: str) -> dict[str, Any]:
        return next(c for c in self._config["components"] if c["props"].get("elem_id") == elem_id)


@asynccontextmanager
async def page(url: str, path: str = "/") -> AsyncIterator[Page]:
    """Opens a page. Raises httpx.HTTPError."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:
        yield Page(client, await page_config(client, path))
