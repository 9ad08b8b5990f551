"""GRPO learns the toy task, and would not with a sign error in the reward."""

from __future__ import annotations

import pytest

from tests.training.pipeline import toy
from training.pipeline import rewards

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
STEPS = 24


def test_the_mean_reward_rises_beyond_noise(tmp_path) -> None:
    curve = toy.train_toy(tmp_path, 1, STEPS)
    assert len(curve.means) == STEPS and toy.learned([curve]), curve


def test_a_sign_error_in_the_reward_is_found(tmp_path, monkeypatch) -> None:
    right = rewards.exact_match
    monkeypatch.setattr(rewards, "exact_match", lambda y, gold: -right(y, gold))
    monkeypatch.setattr(rewards, "precision", lambda y, gold, real=rewards.precision: -real(y, gold))
    curve = toy.train_toy(tmp_path, 1, STEPS)
    assert not toy.learned([curve]), curve
