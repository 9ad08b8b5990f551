"""A PostgreSQL server of our own: a fresh cluster in a temporary folder, on 127.0.0.1 only, gone afterwards.

    python -m tests.postgres COMMAND ...      runs a command with TRIOSCOPE_TEST_POSTGRES set to the server's URL

Says why and runs nothing (status 0) where PostgreSQL is not installed; TRIOSCOPE_REQUIRE_POSTGRES makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "TRIOSCOPE_TEST_POSTGRES"
ABSENT = "PostgreSQL is not installed (Debian: apt-get install postgresql); its storage tests are skipped"
USER = "postgres"


def programs() -> Path | None:
    """The folder of the newest `initdb`, or None. Debian keeps it out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: float(file.parts[-3]))
    file = str(found[-1]) if found else shutil.which("initdb")
    return Path(file).parent if file else None


@contextmanager
def server(durable: bool = True) -> Iterator[str]:
    """The URL of a running server. `durable=False` leaves fsync out: quicker, for tests. Raises RuntimeError where none is installed."""
    place = programs()
    if place is None:
        raise RuntimeError(ABSENT)
    with tempfile.TemporaryDirectory(prefix="trioscope-pg-") as folder:
        data = Path(folder) / "data"
        if os.geteuid() == 0:  # PostgreSQL refuses to work as root
            shutil.chown(folder, USER)
        port = _free_port()
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync={'on' if durable else 'off'} -c max_connections=100"
        _as_user([str(place / "initdb"), "-D", str(data), "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C.UTF-8"], folder)
        _as_user([str(place / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(Path(folder) / "log"), "-w", "-t", "120", "start"], folder)
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/postgres"
        finally:
            _as_user([str(place / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"], folder)


def _as_user(command: Sequence[str], folder: str) -> None:
    user = USER if os.geteuid() == 0 else None
    done = subprocess.run(command, cwd=folder, user=user, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if "initdb" in command[0] else None,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {(done.stdout or '')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(command: Sequence[str]) -> int:
    """Runs the command beside a server; its status."""
    if programs() is None:
        print(ABSENT)
        return 1 if os.environ.get("TRIOSCOPE_REQUIRE_POSTGRES") else 0
    with server(durable=False) as url:
        return subprocess.run(command, env={**os.environ, VARIABLE: url}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
