"""Shard functions of the tests. They count their runs in files, since a worker that is killed tells nobody."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def squares(shard: list[int]) -> dict[str, int]:
    """A result that hangs on nothing but the shard."""
    return {str(n): n * n for n in shard}


def counted(folder: str, shard: list[int]) -> dict[str, int]:
    """`squares`, with a file for each time it ran."""
    note(folder, shard)
    return squares(shard)


def killed_once(folder: str, victim: int, shard: list[int]) -> dict[str, int]:
    """`counted`; the process that meets `victim` first kills itself, as the kernel does when memory is short."""
    again = any(Path(folder).glob(f"{shard[0]}-*"))
    note(folder, shard)
    if victim in shard and not again:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(shard)


def slow(folder: str, shard: list[int]) -> dict[str, int]:
    """`counted`, long enough for a node to be taken away meanwhile."""
    note(folder, shard)
    time.sleep(1)
    return squares(shard)


def bad(shard: list[int]) -> Any:
    """An error of the shard itself."""
    raise ValueError(f"shard {shard} cannot be worked on")


def note(folder: str, shard: list[int]) -> None:
    """A file named after the shard, the process and Ray's node."""
    (Path(folder) / f"{shard[0]}-{os.getpid()}-{time.time_ns()}").write_text(os.environ.get("RAY_NODE_ID", ""))
