"""`python -m training footprint`: one base with adapters against a checkpoint for each agent.

    python -m training footprint --base FOLDER --adapter answer=FOLDER --adapter query=FOLDER --adapter judge=FOLDER [--json]
    python -m training footprint --run DIR        the three agents of a finished pipeline run
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.footprint import BYTES, Footprint, footprint, size
from training.local_model import local_folder
from trio_core.errors import TrioscopeError


def lines(found: Footprint) -> list[str]:
    """The report as lines of text."""
    rows = [f"{part.name:9} {part.parameters:>14,} parameters  {size(part.disk):>10} on disk  {size(part.weights):>10} in memory"
            + (f"  rank {part.rank}" if part.rank else "") for part in (found.base, *found.adapters)]
    return [
        *rows, f"one base with {len(found.adapters)} adapters: {size(found.shared.disk)} on disk, {size(found.shared.memory)} of weights "
        f"in memory ({found.slots.loras} slots of rank {found.slots.rank}: {size(found.slots.bytes)})",
        f"{len(found.adapters)} checkpoints: {size(found.separate.disk)} on disk, {size(found.separate.memory)} of weights in memory",
        f"saved: {1 - found.shared.disk / found.separate.disk:.1%} on disk, {1 - found.shared.memory / found.separate.memory:.1%} in "
        f"memory (weights in {found.dtype}; cache and activations come on top of both)"]


def main(argv: list[str]) -> int:
    """Prints the report; status 1 and a line for what cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m training footprint", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--base", metavar="MODEL", help="folder, or a hub name that lies in the local cache")
    parser.add_argument("--adapter", action="append", default=[], metavar="NAME=FOLDER", help="may be repeated")
    parser.add_argument("--run", type=Path, metavar="DIR", help="a finished pipeline run, in place of --base and --adapter")
    parser.add_argument("--dtype", choices=sorted(BYTES), default="bfloat16", help="type of the served weights (default bfloat16)")
    parser.add_argument("--max-loras", type=int, default=0, help="vLLM's slots (default: one an adapter)")
    parser.add_argument("--max-lora-rank", type=int, default=0, help="rank of a slot (default: the highest of the adapters)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    if (args.run is None) == (not args.base):
        parser.error("give --run, or --base with --adapter")
    try:
        base, adapters = (args.base, dict(_named(text, parser) for text in args.adapter)) if args.base else _of_run(args.run)
        found = footprint(local_folder(base), adapters, args.dtype, args.max_loras, args.max_lora_rank)
    except TrioscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(found.model_dump_json(indent=1) if args.json else "\n".join(lines(found)))
    return 0


def _named(text: str, parser: argparse.ArgumentParser) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        parser.error(f"--adapter {text!r} has no name; write --adapter answer=FOLDER")
    return name, Path(folder)


def _of_run(folder: Path) -> tuple[str, dict[str, Path]]:
    from training.pipeline.serving import agents_of

    return agents_of(folder)
