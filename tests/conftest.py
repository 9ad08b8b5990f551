"""No test reaches a hub or the user's own folders."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
if "PYTEST_XDIST_WORKER" in os.environ:  # several test processes share the cores: threads that spin would only take them from each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# How fast a machine is decides no test.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the developer's shell must not change a test."""
    for key in list(os.environ):
        if key.startswith("TRIOSCOPE__") or key in {"TRIOSCOPE_PROFILE", "TRIOSCOPE_SETTINGS"}:
            monkeypatch.delenv(key)
