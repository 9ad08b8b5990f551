"""Snapshots as training files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from storage.labels import Labels
from storage.snapshots import Snapshots
from storage.values import Split
from trio_core.errors import StoreError
from trio_core.values import LABEL_TEXT


class Exports(Snapshots, Labels):
    """Rows in TRL's conversational prompt-completion form (the loss is on the completion only)."""

    def export_rows(self, snapshot_id: int, split: Split) -> Iterator[dict[str, Any]]:
        """One dict a row: prompt, completion, item_id, label, source. The prompt is what the judge saw, word for word."""
        for row in self.snapshot_rows(snapshot_id, split):
            yield {
                "prompt": [message.model_dump() for message in row.item.messages],
                "completion": [{"role": "assistant", "content": LABEL_TEXT[row.label]}],
                "item_id": row.item_id, "label": row.label, "source": row.source,
            }

    def write_jsonl(self, snapshot_id: int, split: Split, path: Path) -> Path:
        """Writes one side as JSON lines and the snapshot with its manifest beside it (`<name>.manifest.json`)."""
        snapshot = self.snapshot(snapshot_id)
        lines = (json.dumps(row, ensure_ascii=False) for row in self.export_rows(snapshot_id, split))
        # The manifest comes last: a file without one was not finished.
        _write(path, "".join(line + "\n" for line in lines))
        _write(path.with_suffix(".manifest.json"), snapshot.model_dump_json(indent=2) + "\n")
        return path

    def write_history(self, path: Path) -> Path:
        """Writes every label event of the store as JSON lines, superseded and withdrawn ones too."""
        _write(path, "".join(label.model_dump_json() + "\n" for label in self.all_labels()))
        return path


def _write(path: Path, text: str) -> None:
    """A file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); choose another place or free some space") from error
