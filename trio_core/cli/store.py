"""The app's store for the command line. `trio_core` imports no store; the settings name the function that opens one."""

from __future__ import annotations

import importlib
from typing import Any

from trio_core.engines.base import JudgeAdapter
from trio_core.errors import InputError, SettingsError
from trio_core.memory_store import MemoryStore
from trio_core.settings import Settings


def open_run_store(settings: Settings) -> Any:
    """The store that the app uses too, so that runs of the command line open in it. Raises SettingsError, StoreError."""
    if not settings.store_opener:
        return MemoryStore()
    module, _, name = settings.store_opener.partition(":")
    try:
        opener = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        name = settings.store_opener
        raise SettingsError(f"setting 'store_opener': {name!r} names no function ({error}); the app's is 'storage:open_store'") from error
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return opener(settings.database_url)


JUDGE_HELP = "live (the app's live judge), zero-shot (the bare model), or the name of one of the app's judges; default live"


def judge_of(store: Any, name: str, settings: Settings) -> JudgeAdapter:
    """`live`, `zero-shot`, or one of the store's judges by name. Raises InputError with the names that there are."""
    versions = {v.name: v for v in store.judge_versions()} if hasattr(store, "judge_versions") else {}
    if name == "live":
        return store.live_judge().adapter(settings.data_dir) if versions else JudgeAdapter()
    if name == JudgeAdapter().name:
        return JudgeAdapter()
    if name not in versions:
        known = ", ".join(["live", *dict.fromkeys([JudgeAdapter().name, *versions])])
        raise InputError(f"--judge {name!r} is no judge of this store; choose one of {known}")
    return versions[name].adapter(settings.data_dir)
