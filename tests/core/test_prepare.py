"""`make app ARGS=…` hands the app's flags to `prepare` too."""

from __future__ import annotations

from pathlib import Path

import pytest

from trio_core.__main__ import main


def test_the_apps_flags_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--port", "8000", "--host", "127.0.0.1", "--profile", "scripted", "--set", f"data_dir={tmp_path}"]
    assert main(["prepare", *flags]) == 0
    assert "index   demo" in capsys.readouterr().out
