"""Which process a training job is: known by id and start time, so that another process with the same id is not mistaken for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

FILE = "process.json"
STARTED_WITHIN_S = 1.0
"""Start times of one process differ by less than this however they are read."""


def spawn(command: Sequence[str], cwd: Path, log: Path, folder: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a job in a process group of its own, its output appended to `log`. Raises OSError.

    Nothing ties it to the app: it survives the app's end, and a later app finds it by `process.json`.
    """
    with log.open("ab") as out:
        child = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True, env={**os.environ, **(env or {})})
    note(folder, child.pid)
    return child


def note(folder: Path, pid: int) -> None:
    """Writes down, in one step, which process works in a job's folder."""
    identity = {"pid": pid, "started": psutil.Process(pid).create_time()}
    temporary = folder / f"{FILE}.{os.getpid()}.part"
    temporary.write_text(json.dumps(identity), encoding="utf-8")
    temporary.replace(folder / FILE)


def pid_of(folder: Path) -> int | None:
    """The id of the job's process; null if it is gone."""
    process = _process(folder)
    return process.pid if process else None


def alive(folder: Path) -> bool:
    """Whether the job's process still runs."""
    return pid_of(folder) is not None


def end(folder: Path, force: bool = False) -> bool:
    """Asks the process to save and stop; `force` kills its whole group. False if it is gone."""
    process = _process(folder)
    if process is None:
        return False
    try:
        if force:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.terminate()
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False
    return True


def _process(folder: Path) -> psutil.Process | None:
    try:
        identity = json.loads((folder / FILE).read_text(encoding="utf-8"))
        process = psutil.Process(identity["pid"])
        same = abs(process.create_time() - identity["started"]) < STARTED_WITHIN_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, KeyError, psutil.Error):
        return None
