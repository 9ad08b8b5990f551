"""Where labels went: the values of the loop view."""

from __future__ import annotations

from datetime import datetime

from storage.values import BinaryLabel, HumanKind, JudgeKind, JudgeState, LabelSource, Split
from trio_core.values import Value


class JudgeUse(Value):
    """A judge that was made from a snapshot."""

    name: str
    kind: JudgeKind
    state: JudgeState


class SnapshotUse(Value):
    """One snapshot that holds an item, with the label it had then, and what was made of it."""

    snapshot_id: int
    created: datetime
    split: Split
    label: BinaryLabel
    source: LabelSource
    annotators: tuple[str, ...] = ()
    kind: HumanKind | None = None
    judges: tuple[JudgeUse, ...] = ()
    """Judges trained (side `train`) or measured (side `held_out`) on this snapshot, oldest first."""
    live: bool = False
    """The live judge, or one that it sits on, was made from this snapshot."""


class JudgeLoop(Value):
    """One judge and the labels behind it."""

    judge: JudgeUse
    parent: str | None = None
    created: datetime
    promoted_at: datetime | None = None
    snapshot_id: int | None = None
    rows: dict[LabelSource, int] = {}
    """source -> training rows."""
    held_out: int = 0
    annotators: dict[str, int] = {}
    """annotator -> training rows with a label of theirs."""


class LoopView(Value):
    """All judges, newest first, and what waits for the next one."""

    judges: tuple[JudgeLoop, ...]
    waiting: int
    """Items that people decided and whose label, as it is now, is in no snapshot that the live judge was made from."""
    waiting_by: dict[str, int] = {}
    """annotator -> such items with a deciding label of theirs."""
