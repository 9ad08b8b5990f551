"""The head that comes with Trioscope: a candidate like any other, added once, that reads pools sensibly."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage import open_store
from training.starter import add_starter, has_starter, starter
from trio_core.errors import TrainingError
from trio_core.judge_signals import signals
from trio_core.values import Hit, JudgeItem, Message, Passage, PoolEntry


def item(*texts: tuple[str, str]) -> JudgeItem:
    """A pool with a query a passage."""
    pool = tuple(PoolEntry(query=title, hits=(Hit(passage=Passage(id=title, title=title, text=text), score=1.0, rank=1),)) for title, text in texts)
    return JudgeItem(question="In which city was the director of the film Casablanca born?", pool=pool, messages=(Message(role="user", content="?"),))


def test_it_is_added_once_as_a_candidate(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    assert not has_starter(store)
    made = add_starter(store)
    adapter = made.adapter(tmp_path)
    assert (made.kind, made.state, made.parent, adapter.head, adapter.threshold) == ("head", "candidate", "zero-shot", starter().head, starter().threshold)
    with pytest.raises(TrainingError, match="already"):
        add_starter(store)
    assert has_starter(store) and store.live_judge().name == "zero-shot"
    store.close()


def test_a_whole_chain_is_more_sufficient_than_its_first_link() -> None:
    first = ("Casablanca (film)", "Casablanca is a film of 1942, directed by Michael Curtiz.")
    second = ("Michael Curtiz", "Michael Curtiz was a film director who was born in Budapest.")
    low, high = (starter().head.p(signals(item(*pool), 0.2)) for pool in ((first,), (first, second)))
    assert low < starter().threshold < high
