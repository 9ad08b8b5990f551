"""`index plan`: what an index of so many passages takes, and which kind fits the memory."""

from __future__ import annotations

import argparse
import re

from trio_core.errors import InputError
from trio_core.retrieval.index_plan import IndexPlan, plan
from trio_core.retrieval.plan_figures import CORES, DIM, ENCODED_A_SECOND, FIGURES, SOURCE

UNITS = {"": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B)?\s*", re.IGNORECASE)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Flags of `plan`."""
    parser.add_argument("--passages", type=int, required=True, help="passages of the corpus, for example 21015324")
    parser.add_argument("--memory", required=True, metavar="SIZE", help="memory of the serving machine, for example 32GB")
    parser.add_argument("--dim", type=int, default=DIM, help=f"dimensions of the encoder: {DIM} MiniLM (default), 768 E5-base")
    parser.add_argument("--cores", type=int, default=CORES, help=f"cores (default {CORES}, as measured)")
    parser.add_argument("--parts", type=int, default=1, help="files the index is split into (default 1)")
    parser.add_argument("--search-ms", type=float, default=1000.0, help="a query may take so long (default 1000)")
    parser.add_argument("--encode-rate", type=float, help="passages a second that your encoder reaches, all machines together")


def run_plan(args: argparse.Namespace) -> None:
    """Prints it. Raises InputError."""
    found = plan(args.passages, parse_size(args.memory), args.dim, args.cores, args.search_ms, args.parts)
    print("\n".join(lines(found, args.encode_rate, args.parts)))


def lines(found: IndexPlan, encode_rate: float | None = None, parts: int = 1) -> list[str]:
    """The plan as text."""
    head = f"{'kind':9}{'factory':18}{'index':>10}{'to serve':>11}{'to build':>11}{'build':>10}{'search':>10}{'recall@5':>10}  fits {_gb(found.memory)}"
    rows = [
        f"{e.kind:9}{e.factory:18}{_gb(e.index_bytes):>10}{_gb(e.serve_bytes):>11}{_gb(e.build_bytes):>11}"
        f"{'?' if e.build_s is None else _time(e.build_s):>10}{'?' if e.search_ms is None else f'{e.search_ms:,.0f} ms':>10}"
        f"{'?' if e.recall is None else f'{e.recall:.2f}':>10}  {'yes' if e.fits else 'no'}" for e in found.estimates
    ]
    rate = encode_rate or ENCODED_A_SECOND * found.cores / CORES * DIM / found.dim
    said = "given" if encode_rate else "MiniLM as measured" if found.dim == DIM else "guessed from MiniLM by dimensions; give --encode-rate"
    text = [
        f"{found.passages:,} passages of {found.dim} dimensions, {found.cores} core{'s' if found.cores != 1 else ''}", "", head, *rows, "",
        f"encoding: {_time(found.passages / rate)} at {rate:,.0f} passages a second ({said}); it goes on after a stop, and runs on several "
        "machines with --engine ray",
        f"disk: {_gb(found.disk_bytes)} for passages and, until the index is built, their vectors, besides the index",
    ]
    if found.choice is None:
        least = min(found.estimates, key=lambda e: e.serve_bytes)
        text.append(f"choice: none fits; {least.kind} needs {_gb(least.serve_bytes)}. With retriever.mmap=true the index stays on disk and is read "
                    "as needed, at the disk's speed")
    else:
        text.append(f"choice: {found.choice}\n  python -m trio_core index build --corpus CORPUS --factory {found.choice}"
                    + (f" --parts {parts}" if parts > 1 else ""))
    measured = ", ".join(f"{kind} at {figure.passages:,}" for kind, figure in FIGURES.items())
    text.append(f"Sizes follow FAISS's file layout. Build, search and recall are scaled from what was measured ({measured} passages; {SOURCE}); "
                "beyond that they are estimates, recall above all. A kind with ? was not measured.")
    return text


def parse_size(text: str) -> int:
    """`32GB`, `16 GiB`, `8000000000` as bytes. Raises InputError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InputError(f"memory {text!r} is no size; write a number and a unit, for example 32GB or 16GiB")
    return int(float(match[1]) * UNITS[(match[2] or "").upper()])


def _gb(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _time(seconds: float) -> str:
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s"
