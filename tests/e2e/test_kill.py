"""kill -9 in the middle of a run: nothing stored is lost, the run is marked, and it can be continued."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import yaml
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, end, launch, slow_script
from tests.e2e.helpers import ask, run_ids, wait_end


def test_a_killed_app_loses_nothing(start_app: Callable[..., App], page: Page, tmp_path_factory: Any) -> None:
    app = start_app(script=slow_script(2.0))
    page.goto(app.url)
    ask(page)
    expect(page.locator("#ts-board .board > *").first).to_be_visible()
    (run_id,) = run_ids(page)
    while not any(e.type == "state_saved" for e in app.events(run_id)):
        time.sleep(0.1)
    app.process.send_signal(signal.SIGKILL)
    app.process.wait(10)
    stored = app.events(run_id)

    script = app.data_dir / "quick.yaml"
    script.write_text(yaml.safe_dump(slow_script(0.0)))
    again = launch(app.data_dir, f"engine.script={script}")
    try:
        # A run counts as left behind once nobody has kept it alive for 20 s; the new app looks every 5 s.
        until = time.monotonic() + 90
        while (events := again.events(run_id))[-1].type != "run_failed" and time.monotonic() < until:
            time.sleep(0.5)
        assert events[: len(stored)] == stored and events[-1].status == "interrupted"
        page.goto(f"{again.url}/?run={run_id}")
        page.get_by_role("button", name="Continue").click()
        wait_end(page)
        final = again.events(run_id)
        assert [e.seq for e in final] == list(range(len(final))) and final[-1].type == "run_finished"
    finally:
        end(again)
