"""Ray against the local engine on one machine: start, cost of a shard, encoding; same results."""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.common import median, table, write_report
from tests.scale.work import squares
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.models import load_encoder
from trio_core.retrieval.records import contents
from trio_core.retrieval.shards import encode_elsewhere
from trio_core.scale.shards import ShardEngine, cut, map_shards, shard_engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--shards", type=int, default=500, help="shards without work")
    parser.add_argument("--passages", type=int, default=192, help="passages of the demo corpus that are encoded, 32 a shard")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")


def main(args: argparse.Namespace) -> None:
    """Both engines over the same shards."""
    began = time.monotonic()
    ray = shard_engine("ray")
    _timed(ray, squares, [[0]])
    started = time.monotonic() - began
    empty = cut(range(args.shards), 1)
    idle = {engine.name: median(_timed(engine, squares, empty)[0] / len(empty) * 1000 for _ in range(3)) for engine in (shard_engine(), ray)}
    encoder = load_encoder(args.encoder)
    texts = cut([contents(p) for p in Corpus.open("demo").passages()][: args.passages], 32)
    work = partial(encode_elsewhere, encoder.spec(), 32)
    for engine in (shard_engine(), ray):
        _timed(engine, work, [["warm"]] * 4)  # the model is loaded once a worker
    local, ours = _timed(shard_engine(), work, texts)
    remote, theirs = _timed(ray, work, texts)
    same = all(np.allclose(ours[n], theirs[n], atol=1e-6) for n in ours)
    size = sum(matrix.nbytes for matrix in ours.values()) / len(ours)
    body = [
        f"One-minute load {os.getloadavg()[0]:.1f} on {os.cpu_count()} shared cores. Ray on this machine, one worker a core. {args.passages} passages, "
        f"{len(texts)} shards, {size / 1000:.0f} kB a result.", "",
        *table(["", "local", "Ray"], [
            ["start and first shard, s", "0", f"{started:.1f}"], ["a shard without work, ms", f"{idle['local']:.3f}", f"{idle['ray']:.2f}"],
            [f"encoding {args.passages} passages ({args.encoder}), s", f"{local:.1f}", f"{remote:.1f}"]]),
        "", f"Vectors equal to 1e-6: {'yes' if same else 'no'}.",
    ]
    write_report("ray_overhead", "Overhead of Ray", body, {"start_s": started, "idle_ms": idle, "encode_s": {"local": local, "ray": remote}, "same": same})


def _timed(engine: ShardEngine, work: Any, shards: list[Any]) -> tuple[float, dict[int, Any]]:
    began = time.monotonic()
    found = dict(map_shards(engine, work, shards))
    return time.monotonic() - began, found
