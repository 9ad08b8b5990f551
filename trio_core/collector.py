"""Python's collector of cycles, set for a process that makes many values and few cycles."""

from __future__ import annotations

import gc

THRESHOLDS = (10_000, 10, 10)


def calm() -> None:
    """Looks for cycles every 10,000 new objects, not every 700: at 64 runs at once that look was a sixth of the work."""
    gc.set_threshold(*THRESHOLDS)
