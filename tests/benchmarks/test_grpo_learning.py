"""What counts as learning: a gain beyond three times the seeds' spread and the measurement's error; the plot is a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.benchmarks import common, grpo_learning
from tests.benchmarks.grpo_learning import LAST, Run, noise_of, svg


def run(seed: int, before: float, after: float, wobble: float = 0.0) -> Run:
    return Run(seed, before, 0.01, [before] * 20 + [after + wobble * (-1) ** n for n in range(LAST)])


def test_noise_is_the_spread_before_training_or_the_error_of_an_end() -> None:
    assert noise_of([run(1, 0.0, 1), run(2, 0.1, 1), run(3, 0.2, 1)]) == pytest.approx(0.1)
    assert noise_of([run(1, 0.1, 1), run(2, 0.1, 1, wobble=0.3)]) == pytest.approx(0.3 / 9**0.5)
    assert noise_of([run(1, 0.1, 1)]) == 0.01


@pytest.mark.parametrize(("after", "learned"), [(0.51, True), (0.49, False)])
def test_every_seed_must_gain_three_times_that(after: float, learned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (common, grpo_learning):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    assert grpo_learning.report([run(1, 0.0, 1), run(2, 0.1, 1), run(3, 0.2, after)]) is learned
    assert f"**{'yes' if learned else 'no'}**" in (tmp_path / "grpo_learning.md").read_text(encoding="utf-8")


def test_the_plot_has_a_curve_and_a_mean_of_every_seed() -> None:
    drawn = ET.fromstring(svg([run(1, -1, 1.5), run(2, 0.1, 0.2)], 0.1))
    assert len(drawn.findall("{*}polyline")) == 4 and "nan" not in ET.tostring(drawn, encoding="unicode")
