"""`evaluate`: methods over a data set, as runs in the app's store; rows and a report in a folder. The same command goes on."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.cli.store import JUDGE_HELP, judge_of, open_run_store
from trio_core.errors import InputError
from trio_core.evaluation.elsewhere import run_elsewhere
from trio_core.evaluation.summary import METRICS
from trio_core.evaluation.task import EvaluationTask
from trio_core.evaluation.values import Progress
from trio_core.evaluation.wish import Wish, make_ready
from trio_core.scale.shards import add_engine_flags, shard_engine
from trio_core.settings import Settings
from trio_core.workbench import Workbench

EVERY_S = 1.0


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("evaluate", help="run methods over a data set; the same command goes on after a stop")
    parser.add_argument("--method", action="append", required=True, metavar="NAMES",
                        help="trio,maps or, with a setting, trio:max_extensions=1; may be repeated")
    parser.add_argument("--dataset", required=True, help="demo, a file or folder in its original format, or a name in <data_dir>/datasets")
    parser.add_argument("--split", default="", help="which file of a folder: dev, train, …")
    parser.add_argument("--aliases", type=Path, help="2WikiMultihopQA's id_aliases.json, where it does not lie beside the data")
    parser.add_argument("--corpus", help="corpus to search: demo, a .jsonl or .tsv file (.gz), or a folder")
    parser.add_argument("--limit", type=int, help="questions; default all")
    parser.add_argument("--sample", action="store_true", help="draw --limit questions by --seed, not the first ones")
    parser.add_argument("--concurrency", type=int, default=2, help="runs at once (default 2)")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each question; repeat r samples with --seed + r")
    parser.add_argument("--seed", type=int, default=0, help="of sampling, choices' order and bootstrap (default 0)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="rows.jsonl, summary.md, summary.json, table.csv, table.tex")
    parser.add_argument("--with", type=Path, action="append", default=[], dest="others", metavar="DIR",
                        help="take the rows of another evaluation into the report; may be repeated")
    parser.add_argument("--metric", default="em", choices=METRICS, metavar="NAME", help="metric of pairs and breakdowns (default em)")
    parser.add_argument("--judge", default="live", metavar="NAME", help=JUDGE_HELP)
    parser.add_argument("--retry-failed", action="store_true", help="run failed questions again")
    parser.add_argument("--no-evidence", action="store_true", help="do not look for gold passages in the corpus (no recall, no support)")
    add_engine_flags(parser)
    add_settings_flags(parser)


def run(args: argparse.Namespace) -> int:
    """0 when all is done (failed runs are rows of the report), 130 after Ctrl-C (what is done is reported)."""
    for name in ("limit", "concurrency", "repeats"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise InputError(f"--{name} must be at least 1, got {value}")
    settings = _settings(args)
    store = open_run_store(settings)
    judge = judge_of(store, args.judge, settings)
    bench = Workbench(settings, store, judge=judge)
    try:
        ready = make_ready(_wish(args), settings, args.out, judge.name)
        print(f"evaluation {ready.plan.id}: {ready.data}\n{ready.evidence}", file=sys.stderr)
        if args.engine != "local":
            run_elsewhere(ready.plan, settings, judge, store, shard_engine(args.engine, args.address), _say_elsewhere)
        bench.bring_up(wait=True)
        task = EvaluationTask(bench, store, ready, args.out, args.concurrency, _Printer())
        _follow(task)
        print(task.report(f"python -m trio_core {shlex.join(sys.argv[1:])}", args.metric, args.others))
        return 130 if task.stopped else 0
    finally:
        bench.close()
        if hasattr(store, "close"):
            store.close()


def _settings(args: argparse.Namespace) -> Settings:
    settings = settings_from_args(args)
    runs = settings.runs.model_copy(update={"max_running": max(settings.runs.max_running, args.concurrency)})
    retriever = settings.retriever.model_copy(update={"corpus": args.corpus} if args.corpus else {})
    return settings.model_copy(update={"runs": runs, "retriever": retriever})


def _wish(args: argparse.Namespace) -> Wish:
    return Wish(
        dataset=args.dataset, methods=tuple(name for text in args.method for name in text.split(",")), split=args.split,
        aliases=args.aliases, limit=args.limit, sample=args.sample, repeats=args.repeats, seed=args.seed,
        evidence=not args.no_evidence, retry_failed=args.retry_failed,
    )


def _follow(task: EvaluationTask) -> None:
    """Until the end, Ctrl-C or SIGTERM; both signals stop it the same way."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        task.begin()
        task.wait()
    except KeyboardInterrupt:
        print("stopping; the same command goes on from here", file=sys.stderr)
        task.stop()
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_elsewhere(done: int, total: int) -> None:
    print(f"{done:,} of {total:,} runs done on the cluster", file=sys.stderr, flush=True)


class _Printer:
    """Progress on stderr, not more often than people read."""

    def __init__(self) -> None:
        self._at = 0.0

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.fresh and (now - self._at >= EVERY_S or step.done == step.total):
            self._at = now
            print(f"{step}  {step.last[:100]}", file=sys.stderr, flush=True)
