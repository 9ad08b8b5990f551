"""Making label items from the demo questions, with progress: one button of the Annotate and of the Judge page."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from training.service import TrainingService
from training.values import DemoItemCounts
from trio_core.errors import TrioscopeError
from ui.render.base import plural


@dataclass(frozen=True)
class Step:
    """Where the making is: words and the done share."""

    text: str
    share: float = 0.0
    failed: bool = False
    done: bool = False


def make_items(training: TrainingService) -> Iterator[Step]:
    """Makes the items in a thread and yields what is going on; the last step says what came of it."""
    steps: queue.SimpleQueue[Step] = queue.SimpleQueue()

    def work() -> None:
        try:
            counts = training.make_demo_items(lambda text, share: steps.put(Step(text, share)))
            steps.put(Step(made(counts), 1.0, done=True))
        except TrioscopeError as error:
            steps.put(Step(f"The demo items could not be made: {error}", failed=True))
        except Exception as error:  # the page must not wait for ever
            steps.put(Step(f"The demo items could not be made ({type(error).__name__}: {error}). The app's log says more.", failed=True))
            raise

    threading.Thread(target=work, name="demo-items", daemon=True).start()
    while True:
        step = steps.get()
        yield step
        if step.done or step.failed:
            return


def made(counts: DemoItemCounts) -> str:
    """What came of it, in words."""
    long = f", {plural(counts.skipped_long, 'pool')} left out as too long for training" if counts.skipped_long else ""
    added = f"{plural(counts.added, 'item')} added" if counts.added else "nothing to add, all of them were here already"
    return (f"{added}: {plural(counts.items, 'demo item')} now, by gold evidence {counts.sufficient} sufficient and "
            f"{counts.insufficient} insufficient{long}.")
