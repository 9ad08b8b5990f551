"""Ties a child process to its parent, so that no model server outlives the app, even if the app is killed.

As a program it runs a command that way: `python -m trio_core.engines.tether <parent pid> command…`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """On Linux the kernel ends this process when `parent` (a process id) ends; the tie outlives an exec."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before the tie was made
        os._exit(1)


def die_with_stdin() -> None:
    """Ends this process when its stdin closes: the tie for systems other than Linux, harmless on it."""
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()


def _exit_at_end_of_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
