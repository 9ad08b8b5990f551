"""`analyse`: the papers' analyses on stored runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.report import KEYS, analyse, csv_of, markdown_of, write_files
from trio_core.analysis.source import MOST, Selection, chosen, evaluation_id, facts_of
from trio_core.analysis.vectors import Vectors
from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.cli.store import open_run_store
from trio_core.errors import InputError
from trio_core.evaluation.rows import ANSWER_METRICS
from trio_core.settings import Settings


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("analyse", help="analyses of stored runs: stopping, drift, evidence, judge quality, reproduction")
    parser.add_argument(
        "--evaluation", action="append", default=[], metavar="DIR|ID", help="runs of an evaluation: its folder or id; may be repeated"
    )
    parser.add_argument("--run", action="append", default=[], metavar="ID", help="a run; may be repeated")
    parser.add_argument("--method", default="", metavar="NAMES", help="only these methods: trio,maps")
    parser.add_argument("--dataset", default="", help="only runs of this data set")
    parser.add_argument("--origin", default="", choices=("", "live", "recorded", "batch"), help="only runs of this origin")
    parser.add_argument("--search", default="", help="only runs with these words in question or answer")
    parser.add_argument("--limit", type=int, default=MOST, help=f"at most so many runs (default {MOST:,})")
    parser.add_argument("--only", default="", metavar="NAMES", help=f"only these analyses: {', '.join(KEYS)}")
    parser.add_argument(
        "--metric", default="em", choices=ANSWER_METRICS, metavar="NAME", help="metric of the switches' tables (default em)"
    )
    parser.add_argument("--corpus", help="corpus in which gold passages are looked up that no run found (default: those that runs found)")
    parser.add_argument("--no-encoder", action="store_true", help="embed nothing: no similarity, no momentum")
    parser.add_argument("--format", default="text", choices=("text", "json", "csv"), help="what is printed (default text: Markdown)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write analysis.md, analysis.json, reproduction.md and one CSV a table")
    add_settings_flags(parser)


def run(args: argparse.Namespace) -> int:
    """0 when it is printed. Raises InputError for what the store does not have."""
    if not 1 <= args.limit <= MOST:
        raise InputError(f"--limit must be between 1 and {MOST:,}, got {args.limit}")
    only = tuple(name.strip() for name in args.only.split(",") if name.strip()) or KEYS
    if wrong := [name for name in only if name not in KEYS]:
        raise InputError(f"--only {wrong[0]!r} is no analysis; choose of {', '.join(KEYS)}")
    settings = settings_from_args(args)
    store = open_run_store(settings)
    try:
        if not hasattr(store, "list_runs"):
            raise InputError("the settings name no store (store_opener is empty), so there are no stored runs to analyse")
        runs = list(facts_of(store, chosen(store, _selection(args))))
    finally:
        if hasattr(store, "close"):
            store.close()
    if not runs:
        raise InputError("no run that has ended fits; ask for other methods or another data set, or evaluate some first")
    result = analyse(runs, _vectors(args, settings), args.metric, _looked_up(args.corpus, runs), only)
    if args.out:
        write_files(result, args.out)
        print(f"written to {args.out}", file=sys.stderr)
    texts = {"text": markdown_of, "csv": csv_of, "json": lambda a: a.model_dump_json(indent=1)}
    print(texts[args.format](result))
    return 0


def _selection(args: argparse.Namespace) -> Selection:
    return Selection(
        evaluations=tuple(evaluation_id(text) for text in args.evaluation),
        runs=tuple(args.run),
        dataset=args.dataset,
        origin=args.origin,
        methods=tuple(name.strip() for name in args.method.split(",") if name.strip()),
        search=args.search,
        limit=args.limit,
    )


def _vectors(args: argparse.Namespace, settings: Settings) -> Vectors | None:
    if args.no_encoder:
        return None
    from trio_core.retrieval.build import encoder_of  # torch comes with it

    return Vectors(encoder_of(settings.retriever))


def _looked_up(corpus: str | None, runs: list[RunFacts]) -> dict[tuple[str, str], str]:
    """Texts of the runs' gold passages in a corpus, in one pass over it."""
    if not corpus:
        return {}
    from trio_core.retrieval.corpus import Corpus, corpus_name
    from trio_core.retrieval.records import contents

    name = corpus_name(corpus)
    wanted = {i for r in runs if r.corpus == name for i in r.gold}
    return {(name, p.id): contents(p) for p in Corpus.open(corpus).passages() if p.id in wanted} if wanted else {}
