"""Whether GRPO learns: mean reward of a toy task over the steps, three seeds (plot and figures).

`python -m tests.benchmarks grpo_learning` (some 15 minutes on one core); the task is in tests/training/pipeline/toy.py.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.common import RESULTS, mean, table, write_report
from tests.training.pipeline import toy

SEEDS = (1, 2, 3)
COLOURS = ("#1f6feb", "#bc4c00", "#1a7f37")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 340, 52, 34, 16, 44
LOW, HIGH = -1.0, 1.5
SMOOTH, LAST = 5, 10
"""Steps of the running mean; steps that are the end of a curve."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))


def main(args: argparse.Namespace) -> None:
    """Trains once a seed; writes `.md`, `.json` and `.svg`. Status 1 where a seed does not learn."""
    runs = []
    for seed in args.seeds:
        with tempfile.TemporaryDirectory() as folder:
            curve = toy.train_toy(Path(folder), seed, args.steps)
            runs.append(Run(seed, *toy.untrained(str(Path(folder) / "base"), seed), curve.means))
    if not report(runs):
        raise SystemExit(1)


class Run(NamedTuple):
    """A seed's training: the reward before it with its standard error, and that of each step."""

    seed: int
    before: float
    error: float
    means: list[float]

    @property
    def after(self) -> float:
        """Mean of the last steps, in which the learning rate is next to nothing."""
        return mean(self.means[-LAST:])

    @property
    def gain(self) -> float:
        """What training added."""
        return self.after - self.before


def noise_of(runs: Sequence[Run]) -> float:
    """The greater of the seeds' spread before training and the largest standard error of a beginning or an end."""
    ends = [statistics.stdev(run.means[-LAST:]) / LAST**0.5 for run in runs]
    spread = statistics.stdev(run.before for run in runs) if len(runs) > 1 else 0.0
    return max(spread, *ends, *(run.error for run in runs))


def report(runs: Sequence[Run]) -> bool:
    """Writes table, figures and plot; whether every seed gains more than three times the noise."""
    noise = noise_of(runs)
    learned = all(run.gain > 3 * noise for run in runs)
    rows = [(r.seed, f"{r.before:.2f}", f"{r.after:.2f}", f"{r.gain:+.2f}", f"{r.gain / noise:.1f}") for r in runs]
    body = [
        "Mean reward (equation 4, alpha 0.5, l = 6 words), measured by the tests' independent oracle. A tiny Llama whose warm-up writes "
        "right, long and wrong answers to eight demo questions; a LoRA adapter is trained. Best possible: 1.5.", "",
        *table(("seed", "before training", f"last {LAST} steps", "gain", "gain / noise"), rows), "",
        f"Before: 64 rollouts of each question; a step: 32 rollouts of four questions. Noise (the greater of the seeds' spread before "
        f"training and the standard error of a beginning or an end): {noise:.3f}. Every seed gains more than three times that: "
        f"**{'yes' if learned else 'no'}**.", "", "![Mean reward by step](grpo_learning.svg)",
    ]
    (RESULTS / "grpo_learning.svg").write_text(svg(runs, noise), encoding="utf-8")
    write_report("grpo_learning", "GRPO on a toy task", body, {"noise": noise, "runs": [run._asdict() for run in runs]})
    return learned


def svg(runs: Sequence[Run], noise: float) -> str:
    """The curves as a picture with axes: each step thin, the running mean thick, and the band of three times the noise before training."""
    steps = max(len(run.means) for run in runs)

    def x(step: float) -> float:
        return LEFT + (step - 1) / max(1, steps - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (HIGH - value) / (HIGH - LOW) * (HEIGHT - TOP - BOTTOM)

    def line(values: Sequence[float], colour: str, look: str) -> str:
        points = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in enumerate(values, 1))
        return f'<polyline points="{points}" fill="none" stroke="{colour}" {look}/>'

    start = mean(run.before for run in runs)
    top, bottom = y(start + 3 * noise), y(start - 3 * noise)
    marks = [f'<rect x="{LEFT}" width="{WIDTH - LEFT - RIGHT}" y="{top:.1f}" height="{bottom - top:.1f}" fill="#eaeef2"/>'
             f'<text x="{WIDTH - RIGHT - 6}" y="{bottom - 6:.1f}" text-anchor="end" fill="#57606a">before training ± 3 × noise</text>']
    marks += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#d0d7de"/>'
              f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>' for v in (-1, -0.5, 0, 0.5, 1, 1.5)]
    marks += [f'<text x="{x(s):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{s}</text>' for s in range(10, steps + 1, 10)]
    lines, names = [], []
    for n, (curve, seed) in enumerate((run.means, run.seed) for run in runs):
        colour = COLOURS[n % len(COLOURS)]
        lines.append(line(curve, colour, 'stroke-width="1" stroke-opacity="0.35"'))
        names.append(line([mean(curve[max(0, s - SMOOTH) : s]) for s in range(1, len(curve) + 1)], colour, 'stroke-width="2.4"')
                     + f'<text x="{LEFT + 8 + 80 * n}" y="22" fill="{colour}">seed {seed}</text>')
    axis = f"optimiser step (y: mean reward of 32 rollouts; thick: mean of the last {SMOOTH} steps)"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{"".join((*marks, *lines, *names))}'
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{axis}</text></svg>\n')
