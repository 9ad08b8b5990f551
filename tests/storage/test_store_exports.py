"""Every format comes back as the same items and labels; what does not fit is named with its line and loses nothing else."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_helpers import Clock, add_items, give, judge_item, record

from storage import Store, open_store
from storage.annotation_values import VoteAnswer
from storage.formats import from_line, to_line
from storage.values import SnapshotRequest, SnapshotRow
from trio_core.errors import InputError
from trio_core.values import Hit, JudgeItem, Message, Passage, PoolEntry

FORMS = ["prompt_completion", "preference", "kto", "csv"]
EVERYTHING = SnapshotRequest(sources={"human", "votes", "gold"})
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)


@pytest.fixture
def full(store: Store, clock: Clock) -> Store:
    """Labels of every source, a correction among them, and texts that files like to break on."""
    record(store, "Who, =SUM(A1)\n\"it\"?", label="insufficient")
    clock.forward(1)
    give(store, 1, "sufficient")
    give(store, store.add_item(judge_item("=1+1", "line\r\nbreak\u2028and \"quotes\", commas"), "test"), "insufficient")
    for item in add_items(store, 6):
        give(store, item, "sufficient" if item % 2 else "insufficient")
    gold, votes = add_items(store, 8)[6:]
    store.add_gold_label(gold, "sufficient", "rule")
    store.add_vote_label(votes, "small", [VoteAnswer(text="no", n=4, right=False)], 0.7)
    return store


def other_store(folder: Path) -> Store:
    return open_store(f"sqlite:///{folder / 'other.db'}")


@pytest.mark.parametrize("form", FORMS)
def test_round_trip_gives_the_same_items_labels_and_hashes(full: Store, tmp_path: Path, form: Any) -> None:
    before = full.create_snapshot(EVERYTHING)
    other = other_store(tmp_path)
    for split in ("train", "held_out"):
        path = full.write_export(before.id, split, tmp_path / f"{split}.{'csv' if form == 'csv' else 'jsonl'}", form)
        report = other.import_labels(path, "back", "ann")
        assert (report.accepted, report.duplicates, report.refused) == (before.rows(split), (), ())
        again = other.import_labels(path, "back", "ann")
        assert (again.accepted, len(again.duplicates)) == (0, before.rows(split))
    after = other.create_snapshot(EVERYTHING)
    assert after.manifest.content_hash == before.manifest.content_hash
    items = {row.item.content_hash: row.item for row in other.snapshot_rows(after.id)}
    assert items == {row.item.content_hash: row.item for row in full.snapshot_rows(before.id)}
    [label] = [label for label in other.all_labels() if label.question == "=1+1"]
    assert (label.value, label.source, label.annotator) == ("insufficient", "import:back", "ann")
    assert other.item(label.item_id).sources[0].source == "import:back"
    other.close()


def test_folder_is_read_by_datasets_and_comes_back(full: Store, tmp_path: Path) -> None:
    from datasets import load_dataset

    snapshot = full.create_snapshot(EVERYTHING)
    folder = full.write_folder(snapshot.id, tmp_path / "set", "kto")
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {name: len(side) for name, side in loaded.items()} == {"train": snapshot.rows("train"), "test": snapshot.rows("held_out")}
    wanted = {row["item_id"]: (row["label"], row["completion"][0]["content"]) for side in loaded.values() for row in side}
    assert wanted[1] == (False, "Insufficient Information"), "the judge's wrong verdict is unwanted"
    assert wanted[2] == (True, "Insufficient Information")
    other = other_store(tmp_path)
    assert other.import_labels(folder, "back", "ann").accepted == len(wanted)
    other.close()
    with pytest.raises(InputError, match="holds files already"):
        full.write_folder(snapshot.id, folder)
    with pytest.raises(InputError, match="JSON lines"):
        full.write_folder(snapshot.id, tmp_path / "new", "csv")


def test_preference_pairs_and_cells_that_look_like_formulas(full: Store, tmp_path: Path) -> None:
    snapshot = full.create_snapshot(SnapshotRequest(held_out_fraction=0))
    rows = {row["item_id"]: row for row in full.export_rows(snapshot.id, "train", "preference")}
    assert rows[1]["chosen"][0]["content"] == "Sufficient Information" and rows[1]["rejected"][0]["content"] == "Insufficient Information"
    path = full.write_export(snapshot.id, "train", tmp_path / "rows.csv", "csv")
    with path.open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=1+1" in cells and not any(cell.startswith("=") for cell in cells)


@given(text, text, text, st.sampled_from(["sufficient", "insufficient"]), st.sampled_from(["correction", "agreement", None]),
       st.sampled_from(FORMS))
def test_any_text_comes_back_from_any_format(question: str, passage: str, title: str, label: Any, kind: Any, form: Any) -> None:
    hit = Hit(passage=Passage(id="p", title=title, text=passage), score=None, rank=1)
    item = JudgeItem(question=question, pool=(PoolEntry(query=title, hits=(hit,)), PoolEntry(query=passage)),
                     messages=(Message(role="system", content=title), Message(role="user", content=passage)))
    row = SnapshotRow(item_id=1, split="train", label=label, source="human", kind=kind, question_hash="", item=item)
    line = to_line(row, form)
    parsed = from_line({k: str(v) for k, v in line.items()} if form == "csv" else json.loads(json.dumps(line)), flat=form == "csv")
    assert (parsed.item, parsed.label, parsed.source) == (item, label, "human")


def test_lines_of_other_programs_and_lines_that_do_not_fit(store: Store, tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Who wrote it?"}]
    wrong = [{"role": "assistant", "content": "Insufficient Information"}]
    lines: list[Any] = [
        {"prompt": prompt, "completion": [{"role": "assistant", "content": "Sufficient Information"}]},
        "", "{", [1], {"prompt": "Who?", "label": "sufficient"}, {"prompt": prompt, "completion": wrong, "label": False},
        {"prompt": [{"role": "user", "content": "New?"}], "completion": wrong}, {"prompt": prompt, "label": "maybe"},
        {"prompt": prompt, "label": "insufficient"}, {"prompt": prompt, "label": "sufficient", "content_hash": "x"},
        {"prompt": prompt, "label": "sufficient", "question": "half \ud800"}, {"prompt": prompt, "label": "sufficient", "source": "web"},
        {"prompt": prompt[:1], "label": "sufficient"}, {"prompt": prompt, "label": "sufficient", "source": "votes"},
    ]
    file = tmp_path / "mixed.jsonl"
    written = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    file.write_bytes(b"\xef\xbb\xbf" + written + b"\n\xff\xfe\n")
    report = store.import_labels(file, "mixed", "ann")
    assert report.accepted == 2 and [note.line for note in report.duplicates] == [6]
    reasons = {note.line: note.reason for note in report.refused}
    expected = {3: "no JSON", 4: "no JSON object but list", 5: "`prompt` is not a list", 8: "no label", 9: "ann has labelled item 1 suff",
                10: "does not fit", 11: "half a character", 12: "must be human", 13: "no user message", 14: "without the answers",
                15: "no UTF-8"}
    assert set(reasons) == set(expected) and all(words in reasons[line] for line, words in expected.items()), reasons
    first = store.item(1)
    assert first and (first.item.question, first.item.pool, len(first.item.messages)) == ("Who wrote it?", (), 2)
    assert [label.value for label in store.all_labels()] == ["sufficient", "insufficient"]


def test_files_that_cannot_be_read_at_all(store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.csv").write_bytes("prompt\né".encode("latin-1"))
    for path, words in ((tmp_path / "none.jsonl", "cannot be read"), (tmp_path / "empty", "no .jsonl"), (tmp_path / "latin.csv", "UTF-8")):
        with pytest.raises(InputError, match=words):
            store.import_labels(path, "x", "ann")
    with pytest.raises(InputError, match="needs a name"):
        store.import_labels(tmp_path, "", "ann")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    [note] = store.import_labels(tmp_path / "other.csv", "x", "ann").refused
    assert (note.file, note.line, note.reason) == ("other.csv", 2, "`prompt` is missing")
