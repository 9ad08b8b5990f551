"""`prepare`: model file and index, so that the app starts at once. Safe to run again: what is there is checked and kept."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.engines.model_file import find_model
from trio_core.retrieval.build import build_retriever
from trio_core.retrieval.progress import BuildStep


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("prepare", help="get the model file and the index ready")
    add_settings_flags(parser)
    # `make app ARGS=…` gives its flags to this command and to the app; where the app listens does not matter here.
    for flag in ("--port", "--host"):
        parser.add_argument(flag, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Says what is ready, in one line each."""
    settings = settings_from_args(args)
    if settings.engine.kind == "embedded":
        path = find_model(settings.engine.embedded, settings.data_dir, _model_progress())
        print(f"model   {path.name} ({path.stat().st_size / 1e6:,.0f} MB)")
    began = time.monotonic()
    retriever = build_retriever(settings, _progress)
    identity = retriever.identity()
    print(f"index   {identity.get('corpus', settings.retriever.corpus)}: {identity.get('passages', '?')} passages, {time.monotonic() - began:.1f} s")
    asyncio.run(retriever.close())
    return 0


def _model_progress() -> Callable[[str, float], None]:
    shown: list[str] = []

    def progress(what: str, share: float) -> None:
        line = f"{what}: {int(share * 10) * 10} %"
        if line not in shown:
            shown.append(line)
            print(line, file=sys.stderr)

    return progress


def _progress(step: BuildStep) -> None:
    print(step, file=sys.stderr)
