"""A tiny model, a store with labelled items, and a service over both."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.store import Store, open_store
from storage.values import SnapshotRequest
from tests.training.tiny_model import make_tiny_model
from training.rows import TrainingRow
from trio_core.prompting import load_prompts
from trio_core.settings import Settings, TrainingSettings
from trio_core.values import Hit, JudgeItem, Passage, PoolEntry


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def judge_item(question: str, text: str) -> JudgeItem:
    passage = Passage(id=question, title="t", text=text)
    messages = load_prompts("trio")["judge"].render(question=question, pool=text)
    return JudgeItem(question=question, pool=(PoolEntry(query=question, hits=(Hit(passage=passage, score=1.0, rank=1),)),), messages=messages)


def row(number: int, label: str, split: str = "train", words: int = 5, source: str = "gold") -> TrainingRow:
    word = "yes " if label == "sufficient" else "no "
    item = judge_item(f"question {number}", word * words)
    return TrainingRow(item_id=number, split=split, label=label, source=source, question=item.question, messages=item.messages)


def rows(count: int, split: str = "train", first: int = 0) -> list[TrainingRow]:
    return [row(first + n, "sufficient" if n % 2 else "insufficient", split) for n in range(count)]


def settings_for(tiny: Path, data_dir: Path) -> Settings:
    training = TrainingSettings(base_model=str(tiny), lora_rank=2, lora_layers=1, learning_rate=0.01, batch_size=2, epochs=1,
                                device="cpu")
    return Settings(profile="scripted", data_dir=data_dir, training=training)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    for number in range(10):
        label = "sufficient" if number % 2 else "insufficient"
        for part in range(2):
            item = judge_item(f"question {number}", f"{label} {part} " * 5)
            item_id = store.add_item(item, "test", question_id=str(number), round=part)
            store.add_gold_label(item_id, label, "made up")
    return store


@pytest.fixture
def snapshot_id(store: Store) -> int:
    return store.create_snapshot(SnapshotRequest(held_out_fraction=0.4)).id
