"""Vector indexes of one million passages: size, build, load, memory, search and recall of each kind.

The vectors are those of real passages, perturbed: encoding a million texts on two cores takes hours. The noise has the covariance of
the real vectors, so that the copies spread over the same few directions as real text does.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.common import append_row, read_rows, table, write_report
from tests.benchmarks.index_measure import built, opened
from trio_core import demo
from trio_core.retrieval import native
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.index_plan import size_bytes
from trio_core.retrieval.kinds import KINDS
from trio_core.retrieval.models import MINILM, load_encoder
from trio_core.retrieval.records import contents
from trio_core.retrieval.vectors import Matrix

NOISE = 0.5
"""Length of the noise against that of the vector."""
ROWS, QUERIES = 10_000, 300
CLOSE = 0.25
"""How far a size may lie from the plan's estimate."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--folder", type=Path, required=True, help="where vectors and indexes lie (8 GB); finished steps are kept")
    parser.add_argument("--corpus", action="append", default=[], help="passages to perturb (default demo); may be repeated")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 100_000])
    parser.add_argument("--threads", type=int, default=1)


def main(args: argparse.Namespace) -> None:
    """All sizes and kinds, one child process after the other, so that memory is each one's own."""
    args.folder.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    native.faiss()  # once, before the processes are forked
    if not (args.folder / "queries.npy").exists():
        apart(_vectors, args.folder, args.corpus or ["demo"], max(args.sizes))
    path = args.folder / "rows.jsonl"
    for size in args.sizes:
        for kind, parts in [("Flat", 1), ("Flat", 2), ("IVF-SQ8", 1), ("PQ", 1), ("HNSW", 1)]:
            if not any((row["kind"], row["passages"], row["parts"]) == (kind, size, parts) for row in read_rows(path)):
                row = apart(built, args.folder, kind, size, parts, args.threads)
                row |= apart(opened, args.folder, kind, size, parts, args.threads, False)
                row |= {f"mmap_{k}": v for k, v in apart(opened, args.folder, kind, size, parts, args.threads, True).items()}
                append_row(path, row)
    report(read_rows(path), (args.folder / "source.txt").read_text(encoding="utf-8"))


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, from a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        return pool.submit(function, *arguments).result()


def report(rows: list[dict[str, Any]], source: str) -> None:
    """Tables; raises AssertionError where a size lies outside the plan's estimate."""
    shown, sizes = [], []
    for row in sorted(rows, key=lambda r: (r["passages"], KINDS.index(r["kind"]), r["parts"])):
        name = row["kind"] + (f", {row['parts']} parts" if row["parts"] > 1 else "")
        shown.append([
            f"{row['passages']:,}", name, row["factory"], f"{row['build_cpu_s']:,.0f} / {row['build_s']:,.0f}", f"{row['bytes'] / 1e6:,.0f}",
            f"{row['load_s']:.2f} / {row['mmap_load_s']:.3f}", f"{row['resident_mb']:,.0f} / {row['mmap_resident_mb']:,.0f}",
            f"{row['cpu_p50_ms']:.2f} / {row['cpu_p95_ms']:.2f}", f"{row['p50_ms']:.2f} / {row['p95_ms']:.2f}",
            f"{row['mmap_p50_ms']:.2f} / {row['mmap_p95_ms']:.2f}",
            f"{row['recall_at_5']:.3f}", f"{row['recall_at_5_questions']:.3f}", f"{row['load']:.1f}",
        ])
        estimate = size_bytes(row["kind"], row["passages"], row["dim"])
        sizes.append([f"{row['passages']:,}", name, f"{estimate / 1e6:,.1f}", f"{row['bytes'] / 1e6:,.1f}", f"{estimate / row['bytes'] - 1:+.2%}"])
        assert abs(estimate / row["bytes"] - 1) <= CLOSE, f"{name}: the plan says {estimate} bytes, the index has {row['bytes']}"
    body = [
        source, "",
        f"Threads: {rows[0]['threads']}. One query at a time; files lay in the page cache. The machine's two cores were shared: the last column is "
        "the one-minute load when a row was measured, so seconds and milliseconds by the clock are upper bounds. Core seconds and core milliseconds "
        "are time on a processor, which waiting does not lengthen; sizes, memory and recall do not depend on the load.", "",
        *table(["passages", "kind", "factory", "build, core s / s", "MB on disk", "load s, read / mapped", "resident MB, read / mapped", "p50 / p95 core ms",
                "p50 / p95 ms", "mapped p50 / p95 ms", "recall@5", "recall@5, questions", "load"], shown), "",
        f"recall@5: of {QUERIES} perturbed passages that are not in the index, against exact search; 'questions': the demo's real questions.", "",
        f"## The plan's sizes (must lie within {CLOSE:.0%})", "", *table(["passages", "kind", "estimate MB", "measured MB", "off by"], sizes),
    ]
    write_report("index_million", "Vector indexes of one million passages", body, {"source": source, "rows": rows})


def _vectors(folder: Path, corpora: list[str], count: int) -> None:
    """Writes `vectors.npy`, `queries.npy`, `questions.npy`."""
    encoder = load_encoder(MINILM)
    texts = [contents(p) for name in corpora for p in Corpus.open(name).passages()]
    real = encoder.encode_passages(texts)
    np.save(folder / "questions.npy", encoder.encode_queries([q.question for q in demo.questions()]))
    centred = real - real.mean(axis=0)
    root = np.linalg.cholesky(centred.T @ centred / len(real) + 1e-6 * np.eye(real.shape[1])).T.astype(np.float32)
    rng = np.random.default_rng(5)
    out = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (count, real.shape[1]))
    for start, block in zip(range(0, count, ROWS), _perturbed(real, root, rng), strict=False):
        out[start:start + ROWS] = block[: count - start]
    out.flush()
    (folder / "source.txt").write_text(
        f"{count:,} vectors: {len(real):,} real {MINILM} vectors of {', '.join(Path(c).parent.name or c for c in corpora)}, each perturbed "
        f"about {count // len(real):,} times by noise of their covariance, {NOISE} of a vector's length (cosine to the original about "
        f"{1 / np.sqrt(1 + NOISE**2):.2f}).", encoding="utf-8")
    np.save(folder / "queries.npy", next(_perturbed(real, root, rng))[:QUERIES])


def _perturbed(real: Matrix, root: Matrix, rng: np.random.Generator) -> Iterator[Matrix]:
    while True:
        base = real[rng.integers(len(real), size=ROWS)]
        noise = rng.standard_normal(base.shape, dtype=np.float32) @ root
        mixed = base + NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        yield mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
