"""What the processes of all jobs share: one flag, a log on standard output, and a result that is written whatever happened."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from training import process
from trio_core.errors import TrioscopeError

RESULT = "result.json"
STATUS = {"done": 0, "failed": 1, "stopped": 3}


class Result(Protocol):
    """How a job ended: a value with a state."""

    @property
    def state(self) -> Literal["done", "stopped", "failed"]:
        """done, stopped or failed."""

    def model_dump_json(self, *, indent: int) -> str:
        """As JSON text."""


def serve(description: str, run: Callable[[Path], int]) -> None:
    """Runs the config that `--config FILE` names and ends the process with its status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", type=Path, required=True, help="config.json in the job's folder")
    sys.exit(run(parser.parse_args().config))


def run_job(config_file: Path, logger: logging.Logger, work: Callable[[str, Path], Result], failed: Callable[[str], Result]) -> int:
    """Works, then writes `result.json`, last and in one step, whatever happened; the exit status.

    `work` gets the config as text and the job's folder; `failed` makes a result of a reason.
    """
    folder = config_file.parent
    process.note(folder, os.getpid())  # an app that was killed as it started this process could not write it down
    (folder / RESULT).unlink(missing_ok=True)
    try:
        result = work(config_file.read_text(encoding="utf-8"), folder)
    except TrioscopeError as error:
        logger.error("%s", error)
        result = failed(str(error))
    except Exception as error:  # a bug or a full disk: kept in the log in full, in the store in one line
        logger.exception("the job failed")
        result = failed(f"{type(error).__name__}: {error}")
    temporary = folder / f"{RESULT}.part"
    temporary.write_text(result.model_dump_json(indent=1), encoding="utf-8")
    temporary.replace(folder / RESULT)
    logger.info("%s", result.state)
    return STATUS[result.state]
