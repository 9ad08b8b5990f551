"""`ask`: one question through one method; events on standard output as they come."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from trio_core import demo
from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.cli.show import line_of
from trio_core.cli.store import JUDGE_HELP, judge_of, open_run_store
from trio_core.engines.base import JudgeAdapter
from trio_core.errors import InputError
from trio_core.events import BaseEvent, RunFailed, event_to_json, is_end
from trio_core.memory_store import MemoryStore
from trio_core.runs import RunRequest
from trio_core.settings import ENV_PREFIX, Settings
from trio_core.workbench import Workbench


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("ask", help="run one question and print its events")
    parser.add_argument("question")
    parser.add_argument("--method", default="trio")
    parser.add_argument("--json", action="store_true", help="one JSON event a line; `type` names the event")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a setting of the method, for this run")
    parser.add_argument("--judge", default="live", metavar="NAME", help=JUDGE_HELP)
    add_settings_flags(parser)


def options(pairs: list[str], name: str) -> dict[str, Any]:
    """`--option` pairs as data. Raises InputError for a pair without `=`."""
    import yaml

    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--{name} {pair!r} has no '='; write --{name} top_k=3 (environment: {ENV_PREFIX}METHODS__…)")
        values[key.strip()] = yaml.safe_load(value)
    return values


def run(args: argparse.Namespace) -> int:
    """0 when the run finished, 1 when it failed (the last event says why)."""
    settings = settings_from_args(args)
    bench = Workbench(settings, MemoryStore(), judge=_judge(args.judge, settings))
    known = demo.find(args.question) if settings.retriever.corpus == "demo" else None
    request = RunRequest(
        question=args.question, method=args.method, settings=options(args.option, "option"), gold=known.gold if known else None
    )
    try:
        bench.bring_up(wait=True)
        run_id = bench.start_run(request)
        return _follow(bench, run_id, args.json)
    finally:
        bench.close()


def _judge(name: str, settings: Settings) -> JudgeAdapter:
    """From the app's store, which is closed again: the run itself is not kept."""
    store = open_run_store(settings)
    try:
        return judge_of(store, name, settings)
    finally:
        if hasattr(store, "close"):
            store.close()


def _follow(bench: Workbench, run_id: str, as_json: bool) -> int:
    after = -1
    while True:
        snapshot = bench.poll(run_id, after)
        assert snapshot is not None
        for event in snapshot.events:
            after = event.seq
            _print(event, as_json)
            if is_end(event):
                return 1 if isinstance(event, RunFailed) else 0
        if snapshot.fault:
            print(f"error: {snapshot.fault}", file=sys.stderr)
            return 1
        time.sleep(0.02)


def _print(event: BaseEvent, as_json: bool) -> None:
    text = event_to_json(event) if as_json else line_of(event)
    if text:
        print(text, flush=True)
