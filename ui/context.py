"""What every page may use: one bundle, made by `app.py`."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from storage import Store
from training.service import TrainingService
from trio_core.settings import Settings
from trio_core.workbench import Workbench


@dataclass(frozen=True)
class UiContext:
    """Settings, store, workbench and training service of this app."""

    settings: Settings
    store: Store
    workbench: Workbench
    training: TrainingService

    def who(self, request: gr.Request | None) -> str:
        """The person behind a request: the logged-in name, else the local name of the settings."""
        return (request.username if request is not None and request.username else None) or self.settings.annotator
