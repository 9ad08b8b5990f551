"""An annotator without a browser: the requests of the Annotate page and of its header, as Gradio's own script sends them."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

from storage.claims import CLAIM
from ui.identity import COOKIE

STATUS_S = 15.0
"""How often the header of an open page asks how a ready engine is (READY_MS in ui/assets/trioscope.js)."""
PACES = {"harsh": (1.0, 2.0), "lifelike": (4.0, 6.0)}
"""Shortest and longest time between an answer of the server and the next act; people take about five seconds an item."""
TIMEOUT_S = 60.0


@dataclass
class Log:
    """What an annotator saw. Times are seconds from the request's start to the end of its answer."""

    name: str
    acts: list[tuple[str, float]] = field(default_factory=list)
    """Kind of act, seconds."""
    acknowledged: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Form id -> item and value, for every label that the page called saved."""
    sent: set[str] = field(default_factory=set)
    """Form ids of all labels that were sent, answered or not."""
    given: list[int] = field(default_factory=list)
    """Items that came from the queue."""
    late: set[int] = field(default_factory=set)
    """Items that were answered after their claim had run out: others may have them too (rules: `storage.queue`)."""
    faults: list[str] = field(default_factory=list)
    ran_dry: bool = False


class Annotator:
    """One person's page. Not for two tasks at once."""

    def __init__(self, url: str, name: str, seed: int, think_s: tuple[float, float] = PACES["harsh"]) -> None:
        self.log = Log(name)
        self._rng = random.Random(seed)
        self._think_s = think_s
        self._session = uuid.uuid4().hex[:11]
        self._client = httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S, cookies={COOKIE: name}, trust_env=False)
        self._config: dict[str, Any] = {}
        self._view: dict[str, Any] = {}
        self._since = 0.0

    async def work(self, until: float, start_after_s: float = 0.0, acts: int | None = None) -> Log:
        """Opens the page, labels until `time.monotonic()` is `until`, the acts are done or the queue is empty, and closes it."""
        await asyncio.sleep(start_after_s)
        try:
            await self._open()
            status = asyncio.create_task(self._ask_for_status())
            try:
                while time.monotonic() < until and self._view.get("item_id") and (acts is None or len(self.log.acts) < acts):
                    await asyncio.sleep(self._rng.uniform(*self._think_s))
                    await self._act()
                self.log.ran_dry = not self._view.get("item_id")
            finally:
                status.cancel()
        except (httpx.HTTPError, ValueError, KeyError) as error:
            self.log.faults.append(f"{type(error).__name__}: {error}")
        finally:
            await self._client.aclose()
        return self.log

    async def _open(self) -> None:
        self._config = await page_config(self._client, "/annotate")
        await self._trigger("load", None, "ts-header")
        self._apply(await self._trigger("load", None))

    async def _act(self) -> None:
        """A label, mostly; now and then a skip, an undo, or a form that is sent twice (a slow net)."""
        dice = self._rng.random()
        if dice < 0.03 and self.log.acknowledged:
            await self._timed("undo", {"kind": "undo"})
            return
        form, item = uuid.uuid4().hex, int(self._view["item_id"])
        value = "skip" if dice < 0.06 else self._rng.choice(("sufficient", "insufficient"))
        act = {"kind": "label", "item_id": item, "value": value, "client_uuid": form, "milliseconds": 1500, "note": "",
               "reasons": [], "expected": self._view["expected"], "seen": False}
        self.log.sent.add(form)
        since, answer = self._since, await self._timed("label", act)
        if time.monotonic() - since > CLAIM.total_seconds():
            self.log.late.add(item)
        if answer.get("tone") == "saved":
            self.log.acknowledged[form] = (item, value)
        else:
            self.log.faults.append(f"label of item {item}: {answer.get('message')}")
        if dice > 0.97:
            await self._timed("label again", act)

    async def _timed(self, kind: str, act: dict[str, Any]) -> dict[str, Any]:
        began = time.monotonic()
        answer = await self._trigger("act", {"queue": {}, **act})
        self.log.acts.append((kind, time.monotonic() - began))
        self._apply(answer)
        return answer

    def _apply(self, view: dict[str, Any]) -> None:
        if view.get("fresh"):
            self._view, self._since = view, time.monotonic()
            if view.get("item_id") and not view.get("reviewing"):
                self.log.given.append(int(view["item_id"]))

    def _component(self, elem_id: str) -> int:
        return int(next(c["id"] for c in self._config["components"] if c["props"].get("elem_id") == elem_id))

    async def _trigger(self, event_name: str, event: dict[str, Any] | None, elem_id: str = "annotate") -> dict[str, Any]:
        """One event that fills a component (the desk); its new value. Raises httpx.HTTPError for any other status than 200."""
        filled = self._component(elem_id)
        found = next(d for d in self._config["dependencies"]
                     if d["outputs"] == [filled] and event_name in [target[1] for target in d["targets"]])
        reply = await self._client.post("/gradio_api/run/predict", json={
            "data": [None] * len(found["inputs"]), "event_data": event, "fn_index": found["id"], "trigger_id": None,
            "session_hash": self._session})
        reply.raise_for_status()
        return dict(reply.json()["data"][0])

    async def _ask_for_status(self) -> None:
        header = self._component("ts-header")
        while True:
            await self._client.post("/gradio_api/component_server/", json={
                "data": None, "component_id": header, "fn_name": "status", "session_hash": self._session})
            await asyncio.sleep(STATUS_S)


async def page_config(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """Components and events of a page, as its script gets them. Raises httpx.HTTPError, ValueError."""
    page = await client.get(path)
    page.raise_for_status()
    found = re.search(r"window\.gradio_config = (\{.*?\});?\s*</script>", page.text, re.DOTALL)
    if found is None:
        raise ValueError("the page holds no gradio_config")
    return dict(json.loads(found.group(1)))


async def team_work(url: str, people: int, seconds: float, seed: int, think_s: tuple[float, float] = PACES["harsh"],
                    acts: int | None = None) -> list[Log]:
    """So many annotators at once for so long, or until each has done so many acts; they come within five seconds."""
    rng = random.Random(seed)
    until = time.monotonic() + seconds
    team = [Annotator(url, f"annotator {n}", seed + n, think_s) for n in range(people)]
    return list(await asyncio.gather(*(person.work(until, rng.uniform(0, min(5.0, seconds / 4)), acts) for person in team)))
