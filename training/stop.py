"""How a job's process is asked to stop."""

from __future__ import annotations

import signal


class Stopped(Exception):
    """SIGTERM came between two rows, items or steps."""


class StopRequest:
    """SIGTERM as a flag that is looked at between rows and steps. A second SIGTERM changes nothing; SIGKILL is the app's."""

    def __init__(self) -> None:
        self.wanted = False

    def listen(self) -> None:
        """Takes SIGTERM over. Main thread only."""
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "wanted", True))

    def check(self) -> None:
        """Raises Stopped once SIGTERM has come."""
        if self.wanted:
            raise Stopped
