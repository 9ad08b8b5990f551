"""Which stored runs are analysed. The store comes through a protocol, so that nothing here knows a database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field

from trio_core.analysis.facts import RunFacts, run_facts
from trio_core.errors import InputError
from trio_core.events import StoredEvent
from trio_core.runs import ENDED, RunInfo
from trio_core.values import Value

PAGE = 500
MOST = 20_000
"""Runs of one analysis."""


class RunSource(Protocol):
    """What the analyses need of a store."""

    def run(self, run_id: str) -> RunInfo | None:
        """One run, or None."""

    def events(self, run_id: str, after: int = -1) -> Sequence[StoredEvent]:
        """Its events in order."""

    def runs_of_group(self, group: str) -> Sequence[RunInfo]:
        """Runs of an evaluation."""

    def list_runs(
        self,
        search: str = "",
        method: str | None = None,
        status: Any = None,
        dataset: str | None = None,
        origin: Any = None,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[RunInfo], int]:
        """A page of runs, newest first, and how many fit in all."""


class Selection(Value):
    """Evaluations by id and runs by id, or (with neither) all runs of the store; the other fields narrow it down."""

    evaluations: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    dataset: str = ""
    origin: str = ""
    search: str = ""
    limit: int = Field(default=MOST, ge=1, le=MOST)
    """At most so many runs, the newest of the store."""


def chosen(source: RunSource, wanted: Selection) -> list[RunInfo]:
    """Runs that have ended, each once. Raises InputError for an id that the store does not have."""
    found: dict[str, RunInfo] = {}
    for info in _candidates(source, wanted):
        if info.status in ENDED and _fits(info, wanted):
            found[info.id] = info
            if len(found) == wanted.limit:
                break
    return list(found.values())


def facts_of(source: RunSource, infos: Iterable[RunInfo]) -> Iterator[RunFacts]:
    """Run by run, so that only the facts stay in memory."""
    for info in infos:
        yield run_facts(info, source.events(info.id))


def evaluation_id(text: str) -> str:
    """The id of an evaluation, given by itself or as the folder of its files. Raises InputError."""
    path = Path(text) / "evaluation.json"
    if not path.exists():
        if Path(text).is_dir():
            raise InputError(f"{text} is no evaluation's folder: it has no evaluation.json")
        return text
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} is no evaluation's file: {error}") from error


def _candidates(source: RunSource, wanted: Selection) -> Iterator[RunInfo]:
    for run_id in wanted.runs:
        info = source.run(run_id)
        if info is None:
            raise InputError(f"run {run_id!r} does not exist in this store")
        yield info
    for group in wanted.evaluations:
        runs = source.runs_of_group(group)
        if not runs:
            raise InputError(f"the store has no runs of evaluation {group!r}; is it the store that the evaluation wrote to?")
        yield from runs
    if not wanted.runs and not wanted.evaluations:
        yield from _all(source, wanted)


def _all(source: RunSource, wanted: Selection) -> Iterator[RunInfo]:
    offset, method = 0, wanted.methods[0] if len(wanted.methods) == 1 else None
    while True:
        page, total = source.list_runs(
            search=wanted.search, method=method, dataset=wanted.dataset or None, origin=wanted.origin or None, limit=PAGE, offset=offset
        )
        yield from page
        offset += PAGE
        if offset >= total:
            return


def _fits(info: RunInfo, wanted: Selection) -> bool:
    return (
        (not wanted.methods or info.method in wanted.methods)
        and wanted.dataset in ("", info.dataset)
        and wanted.origin in ("", info.origin)
        and wanted.search.casefold() in f"{info.question} {info.answer or ''}".casefold()
    )
