"""`evaluate`: methods over a data set, as runs in the app's store; rows and a report in a folder. The same command goes on."""

from __future__ import annotations

import argparse
import re
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.cli.store import open_run_store
from trio_core.datasets import EvidenceMap, Question, map_evidence, open_dataset
from trio_core.engines.base import JudgeAdapter
from trio_core.errors import InputError
from trio_core.evaluation.batch import Batch, Plan
from trio_core.evaluation.folder import Terms, agree
from trio_core.evaluation.report import ROWS, about, write_report
from trio_core.evaluation.rows import append_row, latest, mend, read_rows
from trio_core.evaluation.summary import METRICS, summarize
from trio_core.evaluation.values import EvaluationStore, Progress, Row, entrant
from trio_core.methods import method_type
from trio_core.retrieval.corpus import Corpus
from trio_core.settings import Settings
from trio_core.workbench import Workbench

EVERY_S = 1.0
STOP_S = 60.0
_PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*@")


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
    parser.add_argument("--judge", choices=("live", "zero-shot"), default="live", help="the store's live judge, or the bare model")
    parser.add_argument("--retry-failed", action="store_true", help="run failed questions again")
    parser.add_argument("--no-evidence", action="store_true", help="do not look for gold passages in the corpus (no recall, no support)")
    add_settings_flags(parser)


def run(args: argparse.Namespace) -> int:
    """0 when all is done (failed runs are rows of the report), 130 after Ctrl-C (what is done is reported)."""
    for name in ("concurrency", "repeats"):
        if getattr(args, name) < 1:
            raise InputError(f"--{name} must be at least 1, got {getattr(args, name)}")
    settings = _settings(args)
    questions, said = _questions(args, settings)
    entrants = list({e.label: e for text in args.method for e in map(entrant, text.split(","))}.values())
    store = open_run_store(settings)
    live = getattr(store, "live_judge", None)
    judge = live().adapter(settings.data_dir) if live and args.judge == "live" else JudgeAdapter()
    bench = Workbench(settings, store, judge=judge)
    try:
        for e in entrants:
            bench.method_settings(e.method, e.settings)
        terms = agree(args.out, _terms(args, settings, judge.name))
        evidence, evidence_said = _evidence(args, settings, questions)
        print(f"evaluation {terms.id}: {said}\n{evidence_said}", file=sys.stderr)
        plan = Plan(terms.id, entrants, questions, evidence, args.repeats, args.seed, args.retry_failed)
        bench.bring_up(wait=True)
        stopped = _work(bench, store, plan, args)
        roles = dict.fromkeys(role for e in entrants for role in method_type(e.method).roles)
        models = {role: " + ".join(filter(None, bench.engine.describe(role))) for role in roles}
        identity = bench.retriever.identity() if bench.retriever else {}
        facts = about(
            f"python -m trio_core {shlex.join(sys.argv[1:])}", terms.id, settings.profile, models=models, judge=judge.name, dataset=said,
            index={str(k): str(v) for k, v in identity.items()}, evidence=evidence_said, seed=str(args.seed),
            notes=("stopped before its end",) if stopped else (),
        )
        print(write_report(args.out, summarize(_rows(args, plan), args.metric, seed=args.seed), facts))
        return 130 if stopped else 0
    finally:
        bench.close()
        if hasattr(store, "close"):
            store.close()


def _settings(args: argparse.Namespace) -> Settings:
    settings = settings_from_args(args)
    runs = settings.runs.model_copy(update={"max_running": max(settings.runs.max_running, args.concurrency)})
    retriever = settings.retriever.model_copy(update={"corpus": args.corpus} if args.corpus else {})
    return settings.model_copy(update={"runs": runs, "retriever": retriever})


def _questions(args: argparse.Namespace, settings: Settings) -> tuple[list[Question], str]:
    data = open_dataset(args.dataset, args.split, limit=None if args.sample else args.limit, aliases=args.aliases, seed=args.seed,
                        roots=[settings.data_dir / "datasets"])
    if args.sample and args.limit is None:
        raise InputError("--sample needs --limit: how many questions to draw")
    questions = data.sample(args.limit, args.seed) if args.sample else list(data)
    return questions, f"{len(questions):,} questions; {data.report().summary()}"


def _terms(args: argparse.Namespace, settings: Settings, judge: str) -> Terms:
    return Terms(id="", dataset=args.dataset, split=args.split, sample=args.limit if args.sample else None, seed=args.seed,
                 profile=settings.profile, corpus=settings.retriever.corpus, retriever=settings.retriever.kind,
                 store=_PASSWORD.sub(r"\1…@", settings.database_url), judge=judge)


def _evidence(args: argparse.Namespace, settings: Settings, questions: list[Question]) -> tuple[EvidenceMap | None, str]:
    if args.no_evidence or settings.retriever.kind == "http":
        return None, "not looked for" if args.no_evidence else "unknown: the passages lie with a remote retriever"
    if not any(q.evidence for q in questions):
        return None, "the data set names none"
    found = map_evidence(questions, Corpus.open(settings.retriever.corpus).passages())
    hint = "" if found.mapped else f"; is {settings.retriever.corpus!r} the corpus of this data set? (--corpus)"
    return found, found.summary() + hint


def _work(bench: Workbench, store: EvaluationStore, plan: Plan, args: argparse.Namespace) -> bool:
    """Runs the batch; True when it was stopped by Ctrl-C or SIGTERM."""
    path = args.out / ROWS
    mend(path)
    have = frozenset(r.run_id for r in read_rows(path) if r.status not in ("interrupted", "stopped"))
    batch = Batch(plan, bench.hub, store, args.concurrency, lambda row: append_row(path, row), _Printer(), have)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        bench.call(batch.work())
    except KeyboardInterrupt:
        print("stopping; the same command goes on from here", file=sys.stderr)
        bench.call(batch.stop(), STOP_S)
        batch.ended.wait(STOP_S)
        return True
    finally:
        signal.signal(signal.SIGTERM, before)
    return False


def _rows(args: argparse.Namespace, plan: Plan) -> list[Row]:
    """Rows of the plan's jobs in its order, then those of other evaluations."""
    found = latest(read_rows(args.out / ROWS))
    others = [row for folder in args.others for row in latest(read_rows(folder / ROWS)).values()]
    return [found[job.key] for job in plan.jobs() if job.key in found] + others


class _Printer:
    """Progress on stderr, not more often than people read."""

    def __init__(self) -> None:
        self._at = 0.0

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.fresh and (now - self._at >= EVERY_S or step.done == step.total):
            self._at = now
            print(f"{step}  {step.last[:100]}", file=sys.stderr, flush=True)
