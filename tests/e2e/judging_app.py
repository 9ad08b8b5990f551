"""The app inside the test's process: its store can be filled and read beside the pages, and people can log in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage import Store, open_store
from training.service import TrainingService
from trio_core.accounts import Account, Role, hash_password, save_accounts
from trio_core.settings import load_settings
from trio_core.workbench import Workbench
from ui import build_app
from ui.context import UiContext
from ui.theme import launch_options

PASSWORD = "correct horse"


@dataclass(frozen=True)
class App:
    """A running app."""

    url: str
    store: Store
    workbench: Workbench


@contextmanager
def serve(folder: Path, people: Mapping[str, Role] | None = None, flags: tuple[str, ...] = ()) -> Iterator[App]:
    """Starts an app with an empty store in `folder`; `people` have accounts with the password `PASSWORD`."""
    if people:
        save_accounts(folder / "accounts.yaml", {name: Account(role=role, password=hash_password(PASSWORD)) for name, role in people.items()})
        flags = (*flags, f"server.accounts={folder / 'accounts.yaml'}")
    settings = load_settings("scripted", flags=[f"data_dir={folder}", "server.port=0", *flags])
    store = open_store(settings.database_url)
    workbench = Workbench(settings, store)
    workbench.bring_up()
    training = TrainingService(settings, store, workbench)
    demo = build_app(UiContext(settings, store, workbench, training))
    demo.queue(default_concurrency_limit=64).launch(**launch_options(settings), prevent_thread_lock=True)
    try:
        yield App(demo.local_url.rstrip("/"), store, workbench)
    finally:
        demo.close(verbose=False)
        if (job := training.active_job()) is not None:  # it would go on without us
            training.abort(job.id)
        training.close()
        workbench.close()
        store.close()
