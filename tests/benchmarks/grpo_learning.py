"""Whether GRPO learns: mean reward of a toy task over the steps, three seeds (plot and figures).

`python -m tests.benchmarks grpo_learning` (minutes on two cores); the task is in tests/training/pipeline/toy.py.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.common import RESULTS, mean, table, write_report
from tests.training.pipeline import toy

SEEDS = (1, 2, 3)
COLOURS = ("#1f6feb", "#bc4c00", "#1a7f37")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 340, 52, 34, 16, 44
LOW, HIGH = -1.0, 1.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))


def main(args: argparse.Namespace) -> None:
    """Trains once a seed; writes `.md`, `.json` and `.svg`. Status 1 where a seed does not learn."""
    curves = []
    for seed in args.seeds:
        with tempfile.TemporaryDirectory() as folder:
            curves.append(toy.train_toy(Path(folder), seed, args.steps))
    noise = toy.noise(curves)
    rows = [(seed, f"{c.means[0]:.2f}", f"{mean(c.means[: toy.FIRST]):.2f}", f"{mean(c.means[-toy.LAST :]):.2f}", f"{toy.gain(c):+.2f}",
             f"{toy.gain(c) / noise:.1f}") for seed, c in zip(args.seeds, curves, strict=True)]
    body = [
        "Mean reward (equation 4, alpha 0.5, l = 6 words), measured by the tests' independent oracle; 32 rollouts a step. A tiny Llama "
        "whose warm-up writes right, long and wrong answers to eight demo questions; a LoRA adapter is trained. Best possible: 1.5.", "",
        *table(("seed", "first step", f"first {toy.FIRST} steps", f"last {toy.LAST} steps", "gain", "gain / noise"), rows), "",
        f"Noise (the greater of the seeds' spread at the beginning and a step's standard error, at least 0.1): {noise:.3f}. "
        f"Every seed gains more than three times that: **{'yes' if toy.learned(curves) else 'no'}**.", "", "![Mean reward by step](grpo_learning.svg)",
    ]
    (RESULTS / "grpo_learning.svg").write_text(svg([c.means for c in curves], args.seeds), encoding="utf-8")
    write_report("grpo_learning", "GRPO on a toy task", body, {"seeds": args.seeds, "noise": noise, "curves": [c.means for c in curves]})
    if not toy.learned(curves):
        raise SystemExit(1)


def svg(curves: Sequence[Sequence[float]], seeds: Sequence[int]) -> str:
    """The curves as a picture with axes."""
    steps = max(map(len, curves))

    def x(step: float) -> float:
        return LEFT + (step - 1) / max(1, steps - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (HIGH - value) / (HIGH - LOW) * (HEIGHT - TOP - BOTTOM)

    marks = [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#d0d7de"/>'
             f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>' for v in (-1, -0.5, 0, 0.5, 1, 1.5)]
    marks += [f'<text x="{x(s):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{s}</text>' for s in range(5, steps + 1, 5)]
    lines = []
    for n, (curve, seed) in enumerate(zip(curves, seeds, strict=True)):
        colour = COLOURS[n % len(COLOURS)]
        points = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in enumerate(curve, 1))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{LEFT + 8 + 80 * n}" y="22" fill="{colour}">seed {seed}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{"".join(marks)}{"".join(lines)}'
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">optimiser step (y: mean reward of 32 rollouts)</text></svg>\n')
