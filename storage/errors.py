"""Failures of the store that a page handles in a way of its own."""

from __future__ import annotations

from storage.values import StoredLabel
from trio_core.errors import StoreError


class LabelConflict(StoreError):
    """The label that a form was built on is no longer the current one; `current` is (None: it was withdrawn)."""

    def __init__(self, message: str, current: StoredLabel | None) -> None:
        super().__init__(message)
        self.current = current
