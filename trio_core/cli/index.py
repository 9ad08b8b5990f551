"""`python -m trio_core index build|info|search|plan`: indexes without the web app."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trio_core.cli import index_plan
from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.errors import SettingsError, TrioscopeError, UnfitIndexError
from trio_core.retrieval.build import build_retriever, encoder_of, index_folder
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.index import Kind, build_index
from trio_core.retrieval.manifest import read_manifest
from trio_core.retrieval.opened import build_command
from trio_core.retrieval.progress import BuildStep
from trio_core.scale.shards import add_engine_flags, shard_engine
from trio_core.settings import Settings

EVERY_S = 0.5
OPTIONS = {"corpus": "corpus", "encoder": "encoder", "factory": "factory", "out": "index_dir", "kind": "kind", "batch_size": "batch_size",
           "parts": "parts"}
"""Command line option -> key in RetrieverSettings."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the `index` command to an argparse subparsers object; `args.run` is set to `run`."""
    parser: argparse.ArgumentParser = subparsers.add_parser("index", help="build, show or search an index")
    actions = parser.add_subparsers(dest="action", required=True, metavar="build|info|search|plan")
    build = actions.add_parser("build", help="build or replace an index; goes on after an interruption")
    build.add_argument("--factory", help="Flat, HNSW, IVF-SQ8, PQ, or a FAISS factory string: IVF4096,SQ8, …")
    build.add_argument("--parts", type=int, help="files of the vector index, searched at once (default 1)")
    build.add_argument("--batch-size", type=int, help="texts encoded at once")
    add_engine_flags(build)
    search = actions.add_parser("search", help="search an index")
    search.add_argument("query")
    search.add_argument("--k", type=int, default=5, help="passages to show")
    for action in (build, actions.add_parser("info", help="show what an index was made from"), search):
        action.add_argument("--corpus", help="demo, a .jsonl or .tsv file (.gz), or a folder")
        action.add_argument("--encoder", help="name or path of a sentence-transformers model")
        action.add_argument("--kind", choices=("dense", "bm25", "hybrid"))
        action.add_argument("--out", type=Path, metavar="FOLDER", help="the index folder")
        add_settings_flags(action)
    index_plan.add_flags(actions.add_parser("plan", help="size, build time and recall of each kind, and which fits the memory"))
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Runs the command; 0 = done, 2 = an error that was told on stderr."""
    actions: dict[str, Callable[[Settings, argparse.Namespace], None]] = {"build": _build, "info": _info, "search": _search}
    try:
        if args.action == "plan":
            index_plan.run_plan(args)
        else:
            actions[args.action](_settings(args), args)
    except TrioscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    settings = settings_from_args(args)
    given = {key: getattr(args, option, None) for option, key in OPTIONS.items()}
    update = {key: value for key, value in given.items() if value is not None}
    for name in ("batch_size", "parts"):
        if update.get(name, 1) < 1:
            raise SettingsError(f"--{name.replace('_', '-')} must be at least 1, got {update[name]}")
    return settings.model_copy(update={"retriever": settings.retriever.model_copy(update=update)})


def _build(settings: Settings, args: argparse.Namespace) -> None:
    chosen, folder = settings.retriever, index_folder(settings)
    kind: Kind = "dense" if chosen.kind == "http" else chosen.kind
    encoder = None if kind == "bm25" else encoder_of(chosen)
    corpus = Corpus.open(chosen.corpus)
    built = build_index(corpus, folder, kind, encoder, chosen.factory, chosen.batch_size, _Printer(), parts=chosen.parts,
                        engine=shard_engine(args.engine, args.address))
    print(built.manifest.corpus.report.summary())
    print(f"{'built' if built.changed else 'up to date'}: {folder}")


def _info(settings: Settings, args: argparse.Namespace) -> None:
    folder = index_folder(settings)
    manifest = read_manifest(folder)
    if manifest is None:
        raise UnfitIndexError(f"there is no index in {str(folder)!r}; {build_command(folder, corpus=settings.retriever.corpus)}")
    print(manifest.model_dump_json(indent=2))


def _search(settings: Settings, args: argparse.Namespace) -> None:
    asyncio.run(_print_hits(settings, args.query, args.k))


async def _print_hits(settings: Settings, query: str, k: int) -> None:
    retriever = build_retriever(settings, _Printer())
    try:
        [result] = await retriever.search([query], k)
    finally:
        await retriever.close()
    for hit in result.hits:
        score = "" if hit.score is None else f" {hit.score:.4f}"
        print(f"{hit.rank}.{score} [{hit.passage.id}] {hit.passage.title}\n   {hit.passage.text}")
    if result.note:
        print(f"note: {result.note}", file=sys.stderr)


class _Printer:
    """Progress on stderr, not more often than people read."""

    def __init__(self) -> None:
        self._last: tuple[str, float] = ("", 0.0)

    def __call__(self, step: BuildStep) -> None:
        now = time.monotonic()
        phase, at = self._last
        if step.phase != phase or now - at >= EVERY_S or step.done == step.total:
            self._last = (step.phase, now)
            print(step, file=sys.stderr, flush=True)
