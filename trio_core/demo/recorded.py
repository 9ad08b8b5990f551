"""Runs recorded with the embedded model, to look at while a model loads: JSON files `{"request": …, "events": […]}`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Protocol

from trio_core.events import StoredEvent, TextDelta, event_from_json
from trio_core.runs import RunRequest


class Importer(Protocol):
    """The part of the store that takes whole runs; the same run again is stored once."""

    def import_run(self, request: RunRequest, events: Sequence[StoredEvent]) -> str:
        """The run's id."""


def recorded() -> list[tuple[RunRequest, list[StoredEvent]]]:
    """All recorded runs by file name; empty where none are shipped."""
    folder = resources.files("trio_core.demo").joinpath("recorded")
    if not folder.is_dir():
        return []
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".json")), key=lambda f: f.name)
    return [_read(f.read_text(encoding="utf-8")) for f in files]


def _read(text: str) -> tuple[RunRequest, list[StoredEvent]]:
    data = json.loads(text)
    request = RunRequest.model_validate({**data["request"], "origin": "recorded"})
    events = [event_from_json(json.dumps(e)) for e in data["events"]]
    return request, [e for e in events if not isinstance(e, TextDelta)]


def import_recorded(store: Importer) -> list[str]:
    """Ids of the recorded runs in the store; each is stored once."""
    return [store.import_run(request, events) for request, events in recorded()]
