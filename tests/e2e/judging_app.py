"""The app inside the test's process: its store can be filled and read beside the pages, and people can log in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage import Store, open_store
from training.service import TrainingService
from trio_core.settings import load_settings
from trio_core.workbench import Workbench
from ui import build_app
from ui.context import UiContext
from ui.theme import launch_options


@dataclass(frozen=True)
class App:
    """A running app."""

    url: str
    store: Store
    workbench: Workbench


@contextmanager
def serve(folder: Path, auth: list[tuple[str, str]] | None = None, flags: tuple[str, ...] = ()) -> Iterator[App]:
    """Starts an app with an empty store in `folder`."""
    settings = load_settings("scripted", flags=[f"data_dir={folder}", *flags])
    store = open_store(settings.database_url)
    workbench = Workbench(settings, store)
    workbench.bring_up()
    training = TrainingService(settings, store, workbench)
    demo = build_app(UiContext(settings, store, workbench, training))
    demo.queue(default_concurrency_limit=64).launch(**launch_options(settings), auth=auth, prevent_thread_lock=True)
    try:
        yield App(demo.local_url.rstrip("/"), store, workbench)
    finally:
        demo.close(verbose=False)
        if (job := training.active_job()) is not None:  # it would go on without us
            training.abort(job.id)
        training.close()
        workbench.close()
        store.close()
