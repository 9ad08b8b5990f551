"""Shards on this machine: order, resuming, errors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.scale.work import bad, counted, squares
from trio_core.errors import SettingsError
from trio_core.scale.shards import cut, kept_shards, map_shards, shard_engine

SHARDS = cut(range(10), 3)


def test_local_results_come_in_order() -> None:
    assert [number for number, _ in map_shards(shard_engine(), squares, SHARDS)] == [0, 1, 2, 3]
    assert SHARDS[-1] == [9]


def test_kept_shards_are_not_worked_on_again(tmp_path: Path) -> None:
    (tmp_path / "ran").mkdir()
    work = partial(counted, str(tmp_path / "ran"))
    first = kept_shards(shard_engine(), work, SHARDS[:2], tmp_path / "kept")
    every = kept_shards(shard_engine(), work, SHARDS, tmp_path / "kept")
    assert every[:2] == first and every == [squares(shard) for shard in SHARDS]
    assert len(list((tmp_path / "ran").iterdir())) == len(SHARDS)


def test_an_error_keeps_what_is_done(tmp_path: Path) -> None:
    kept_shards(shard_engine(), squares, SHARDS[:1], tmp_path)
    with pytest.raises(ValueError, match=r"\[3, 4, 5\]"):
        kept_shards(shard_engine(), bad, SHARDS[:2], tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 1


@pytest.mark.parametrize(("name", "address", "said"), [("spark", "", "no engine 'spark'"), ("local", "a:1", "add --engine ray")])
def test_unknown_engine_and_idle_address(name: str, address: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        shard_engine(name, address)
