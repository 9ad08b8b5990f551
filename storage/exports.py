"""Snapshots as training files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from storage.formats import CSV_COLUMNS, ExportFormat, to_line
from storage.labels import Labels
from storage.snapshots import Snapshots
from storage.values import Snapshot, SnapshotRow, Split
from storage.votes import Votes
from trio_core.errors import InputError, StoreError

FOLDER_FILES: dict[Split, str] = {"train": "train", "held_out": "test"}
"""side -> name of its file and of the split in a folder."""


class Exports(Snapshots, Labels, Votes):
    """Writing snapshots in the formats of `storage.formats`. The prompt is what the judge saw, word for word."""

    def export_rows(self, snapshot_id: int, split: Split, form: ExportFormat = "prompt_completion") -> Iterator[dict[str, Any]]:
        """One dict a row."""
        for row in self.snapshot_rows(snapshot_id, split):
            yield to_line(row, form, self._votes(row))

    def write_export(self, snapshot_id: int, split: Split, path: Path, form: ExportFormat = "prompt_completion") -> Path:
        """Writes one side (JSON lines or CSV) and the snapshot with its manifest beside it (`<name>.manifest.json`)."""
        snapshot = self.snapshot(snapshot_id)
        # The manifest comes last: a file without one was not finished.
        _write(path, _text(self.export_rows(snapshot_id, split, form), form))
        _write(path.with_suffix(".manifest.json"), snapshot.model_dump_json(indent=2) + "\n")
        return path

    def write_jsonl(self, snapshot_id: int, split: Split, path: Path) -> Path:
        """`write_export` in TRL's conversational prompt-completion form (the loss is on the completion only)."""
        return self.write_export(snapshot_id, split, path)

    def write_folder(self, snapshot_id: int, folder: Path, form: ExportFormat = "prompt_completion") -> Path:
        """Writes both sides as a folder that `datasets.load_dataset(folder)` reads: splits `train` and `test` (held out).

        A side without rows has no file. Raises InputError for CSV (a folder holds JSON lines) and for a folder that is in use.
        """
        if form == "csv":
            raise InputError("a data set folder holds JSON lines; choose prompt_completion, preference or kto, or export one CSV file")
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} holds files already; give the name of a new folder")
        snapshot = self.snapshot(snapshot_id)
        sides = [split for split in FOLDER_FILES if snapshot.rows(split)]
        for split in sides:
            _write(folder / f"{FOLDER_FILES[split]}.jsonl", _text(self.export_rows(snapshot_id, split, form), form))
        _write(folder / "manifest.json", snapshot.model_dump_json(indent=2) + "\n")
        _write(folder / "README.md", _card(snapshot, sides, form))
        return folder

    def write_history(self, path: Path) -> Path:
        """Writes every label event of the store as JSON lines, superseded and withdrawn ones too."""
        _write(path, "".join(label.model_dump_json() + "\n" for label in self.all_labels()))
        return path

    def _votes(self, row: SnapshotRow) -> list[Any]:
        return [vote for vote in self.vote_labels(row.item_id) if vote.label == row.label and vote.answer_model in row.answer_models
                ] if row.answer_models else []


def _text(lines: Iterable[dict[str, Any]], form: ExportFormat) -> str:
    if form != "csv":
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, CSV_COLUMNS)
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _card(snapshot: Snapshot, sides: list[Split], form: ExportFormat) -> str:
    files = "".join(f"  - split: {FOLDER_FILES[s]}\n    path: {FOLDER_FILES[s]}.jsonl\n" for s in sides)
    rows = "".join(f"- `{FOLDER_FILES[s]}`: {snapshot.rows(s)} rows, {snapshot.manifest.questions.get(s, 0)} questions\n" for s in sides)
    return (f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n"
            f"# Sufficiency labels, snapshot {snapshot.id}\n\nFormat `{form}`. Made by Trioscope; the split is by question.\n\n{rows}\n"
            f"What was left out and why stands in `manifest.json` (content hash `{snapshot.manifest.content_hash}`).\n")


def _write(path: Path, text: str) -> None:
    """A file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(part, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); choose another place or free some space") from error
