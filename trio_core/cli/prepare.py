"""`prepare`: model file and index, so that the app starts at once. Safe to run again: what is there is checked and kept."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import Any

from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.engines.model_file import find_model
from trio_core.retrieval.build import build_retriever


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("prepare", help="get the model file and the index ready")
    add_settings_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Says what is ready, in one line each."""
    settings = settings_from_args(args)
    if settings.engine.kind == "embedded":
        path = find_model(settings, lambda text: print(text, file=sys.stderr))
        print(f"model   {path.name} ({path.stat().st_size / 1e6:,.0f} MB)")
    began = time.monotonic()
    retriever = build_retriever(settings, _progress)
    identity = retriever.identity()
    print(f"index   {identity.get('corpus', settings.retriever.corpus)}: {identity.get('passages', '?')} passages, {time.monotonic() - began:.1f} s")
    asyncio.run(retriever.close())
    return 0


def _progress(done: int, total: int | None, seconds_left: float | None) -> None:
    left = "" if seconds_left is None else f", {seconds_left:.0f} s left"
    print(f"indexed {done:,} of {total or '?'} passages{left}", file=sys.stderr)
