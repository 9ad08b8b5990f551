"""Who may roll a judge back: admins only, where people have accounts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import pytest

from storage import open_store
from training.service import TrainingService
from trio_core.accounts import Account, hash_password, save_accounts
from trio_core.errors import InputError
from trio_core.settings import load_settings
from ui.context import UiContext
from ui.pages.judge_versions import rolled_back, way_back


@pytest.mark.parametrize(("name", "live"), [("ann", "judge-1"), ("boss", "zero-shot")])
def test_only_an_admin_rolls_back(tmp_path: Path, name: str, live: str) -> None:
    save_accounts(tmp_path / "a.yaml", {"ann": Account(role="annotator", password=hash_password("x" * 12)),
                                        "boss": Account(role="admin", password=hash_password("x" * 12))})
    settings = load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}", f"server.accounts={tmp_path / 'a.yaml'}"])
    store = open_store(settings.database_url)
    store.add_judge_version("base", kind="threshold", parent="zero-shot", threshold=0.4)
    store.promote("judge-1", "boss")
    ctx = UiContext(settings, store, cast(Any, None), TrainingService(settings, store))
    request = cast(gr.Request, SimpleNamespace(username=name))
    button = way_back(ctx, request)
    assert (button.interactive, "admins only" in str(button.value)) == ((False, True) if name == "ann" else (True, False))
    if live == "judge-1":
        with pytest.raises(InputError, match="only an admin"):
            rolled_back(ctx, request)
    else:
        rolled_back(ctx, request)
    assert store.live_judge().name == live
    store.close()
