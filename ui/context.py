"""What every page may use: one bundle, made by `app.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import gradio as gr

from storage import Store
from training.service import TrainingService
from trio_core.accounts import Role
from trio_core.evaluation.service import EvaluationService
from trio_core.settings import Settings
from trio_core.workbench import Workbench
from ui.identity import People


@dataclass(frozen=True)
class UiContext:
    """Settings, store, workbench and training service of this app."""

    settings: Settings
    store: Store
    workbench: Workbench
    training: TrainingService

    @cached_property
    def people(self) -> People:
        """Names and roles behind requests."""
        return People(self.settings)

    @cached_property
    def evaluations(self) -> EvaluationService:
        """The evaluations of this app."""
        return EvaluationService(self.settings, self.store, self.workbench)

    def who(self, request: gr.Request | None) -> str:
        """The name of the person behind a request. Raises InputError where nobody is known."""
        return self.people.name(request)

    def role(self, request: gr.Request | None) -> Role:
        """`admin` or `annotator`. Raises InputError where nobody is known."""
        return self.people.role(request)

    def require_admin(self, request: gr.Request | None) -> str:
        """The admin's name; raises InputError for everybody else."""
        return self.people.require_admin(request)
