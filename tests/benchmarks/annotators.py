"""Many annotators over HTTP against the real app: no label lost or doubled, no item over its overlap, how long an act takes.

The app is a process of its own (`--profile scripted`), the annotators are another. `--url-store` takes a store's URL, or
`postgres` for a PostgreSQL server of our own in a temporary folder; without it a new SQLite file is used.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from storage import open_store
from tests import postgres
from tests.benchmarks.annotator_client import PACES, STATUS_S, Log, team_work
from tests.benchmarks.annotator_store import check, fill
from tests.benchmarks.common import table, write_report
from tests.e2e.conftest import end, launch

TARGET_MS = 300.0
MUST_BE_ZERO = ("lost", "changed", "doubled", "unknown", "over_overlap")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each pace")
    parser.add_argument("--pace", choices=[*PACES, "both"], default="both", help="1-2 s between acts, 4-6 s, or one after the other")
    parser.add_argument("--overlap", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--url-store", default="", help="URL of an empty store, or `postgres`; default: a new SQLite file")


def main(args: argparse.Namespace) -> None:
    """Runs, writes the report, and ends with status 1 where a label was lost or doubled or an item got too many."""
    paces = list(PACES) if args.pace == "both" else [args.pace]
    if len(paces) > 1 and args.url_store not in ("", "postgres"):
        raise SystemExit("a store that is given is filled once: choose --pace harsh or --pace lifelike")
    found: dict[str, dict[str, Any]] = {}
    for pace in paces:
        with _store_url(args.url_store) as url:
            found[pace] = measure(args.people, args.items, args.seconds, args.overlap, args.seed, url, PACES[pace])
    kind = "PostgreSQL" if args.url_store.startswith("postgres") else "SQLite"
    name = "annotators" if kind == "SQLite" else "annotators_postgres"
    write_report(name, f"{args.people} annotators over HTTP, {kind}", report(found), found)
    if any(run["check"][key] for run in found.values() for key in MUST_BE_ZERO) or any(run["faults"] for run in found.values()):
        raise SystemExit(1)


@contextmanager
def _store_url(given: str) -> Iterator[str]:
    if given == "postgres":
        with postgres.server() as url:
            yield url
    else:
        yield given


def measure(people: int, items: int, seconds: float, overlap: int, seed: int, url: str = "",
            think_s: tuple[float, float] = PACES["harsh"], acts: int | None = None) -> dict[str, Any]:
    """Fills a store, starts the app on it, lets people label, and checks what is stored. `acts`: each person's most."""
    with tempfile.TemporaryDirectory(prefix="trioscope-load-") as folder:
        url = url or f"sqlite:///{Path(folder) / 'trioscope.db'}"
        store = open_store(url)
        fill(store, items, seed)
        store.set_overlap(overlap, "load test")
        app = launch(Path(folder), f"store_url={url}")
        try:
            watch = _Watch(app.process.pid)
            logs = asyncio.run(team_work(app.url, people, seconds, seed, think_s, acts))
            busy = watch.stop()
        finally:
            end(app)
        checked = check(store, logs, overlap)
        store.close()
    return {"people": people, "items": items, "seconds": seconds, "overlap": overlap, "seed": seed, "think_s": think_s, "check": checked,
            "faults": [fault for log in logs for fault in log.faults], "ran_dry": sum(log.ran_dry for log in logs), **_times(logs), **busy}


def _times(logs: list[Log]) -> dict[str, Any]:
    by_kind: dict[str, list[float]] = {}
    for log in logs:
        for kind, took in log.acts:
            by_kind.setdefault(kind, []).append(1000 * took)
    return {"ms": {kind: {"n": len(found), **{f"p{q}": round(_percentile(found, q), 1) for q in (50, 95, 99)}, "max": round(max(found), 1)}
                   for kind, found in {"all": [t for times in by_kind.values() for t in times], **by_kind}.items() if found}}


def _percentile(values: list[float], q: int) -> float:
    """Nearest rank."""
    return sorted(values)[max(0, -(-q * len(values) // 100) - 1)]


class _Watch:
    """How busy the app and the whole machine are, from the start until `stop`."""

    def __init__(self, pid: int) -> None:
        self._process, self._began, self._loads = psutil.Process(pid), time.monotonic(), [os.getloadavg()[0]]
        self._cpu = self._process.cpu_times()
        self._all = psutil.cpu_times()
        self._ended = threading.Event()
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while not self._ended.wait(5.0):
            self._loads.append(os.getloadavg()[0])

    def stop(self) -> dict[str, Any]:
        """Cores used by the app and by everything, and the load average."""
        self._ended.set()
        wall, cpu, everything = time.monotonic() - self._began, self._process.cpu_times(), psutil.cpu_times()
        used = (cpu.user + cpu.system) - (self._cpu.user + self._cpu.system)
        idle = (everything.idle + everything.iowait) - (self._all.idle + self._all.iowait)
        return {"app_cores": round(used / wall, 2), "app_cpu_s": round(used, 1), "machine_cores": round((psutil.cpu_count() or 1) - idle / wall, 2),
                "load_average": [round(min(self._loads), 1), round(max(self._loads), 1)], "wall_s": round(wall, 1)}


def report(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The report's lines: each pace by itself."""
    rows = [[f"{pace}, {_think(run)}", kind, row["n"], row["p50"], row["p95"], row["p99"], row["max"], f"{TARGET_MS:g}" if kind == "all" else ""]
            for pace, run in found.items() for kind, row in run["ms"].items()]
    zeros = [[key.replace("_", " "), *(run["check"][key] for run in found.values())] for key in MUST_BE_ZERO]
    return [
        *table(["pace", "act", "n", "p50 ms", "p95 ms", "p99 ms", "max ms", "target p95"], rows), "",
        *table(["must be 0", *found], [*zeros, ["failed requests", *(len(run["faults"]) for run in found.values())]]), "",
        *(line for pace, run in found.items() for line in (_words(pace, run), "")),
        f"The same requests as the page's script: the page, its two load events, one request a label with the next item in the answer, and the "
        f"header's question for the engine every {STATUS_S:g} s. A time runs from the request until its whole answer has been read. 3 % of the acts "
        "are undos, 3 % skips; 3 % of the labels are sent a second time with the same form id. App and annotators shared the machine with other work.",
    ]


def _think(run: Mapping[str, Any]) -> str:
    low, high = run["think_s"]
    return f"{low:g}-{high:g} s"


def _words(pace: str, run: Mapping[str, Any]) -> str:
    checked, acts = run["check"], max(1, run["ms"].get("all", {"n": 0})["n"])
    late = checked["over_overlap_late"]
    return (
        f"{pace.capitalize()}: {run['people']} people, {run['items']:,} items, overlap {run['overlap']}, {run['seconds']:g} s, seed {run['seed']}; each "
        f"thinks {_think(run)} after every answer. {checked['acknowledged']:,} labels were acknowledged and {checked['stored']:,} are stored. "
        f"{checked['items_labelled']:,} items were labelled; {run['ran_dry']} people found the queue empty. "
        + (f"{late} items have more labels than asked for, because one came after its claim of five minutes had run out. " if late else "")
        + f"Load average {run['load_average'][0]} to {run['load_average'][1]}, {run['machine_cores']} cores busy in all, of which the app used "
        f"{run['app_cores']} ({1000 * run['app_cpu_s'] / acts:.1f} ms of processor time an act, page loads and the header's questions included).")
