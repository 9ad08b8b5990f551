"""The whole app in a process of its own, and a real browser.

    app_url            the address of an app with profile `scripted` (one a session)
    page               a browser page that fails the test on any script error
    start_app(*flags, script=...)   another app with other settings or replies; ends with the session
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from storage import open_store
from trio_core.events import StoredEvent

ROOT = Path(__file__).resolve().parent.parent.parent
CHROMIUM = os.environ.get("TRIOSCOPE_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]
START_S = 600
expect.set_options(timeout=60_000)  # shared machines are slow at times; nothing here measures speed


class App(NamedTuple):
    """A running app."""

    url: str
    data_dir: Path
    process: subprocess.Popen[str]

    def events(self, run_id: str) -> list[StoredEvent]:
        """A run's events, read from the store beside the app."""
        store = open_store(f"sqlite:///{self.data_dir / 'trioscope.db'}")
        try:
            return list(store.events(run_id))
        finally:
            store.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is slow: a server and a browser. Without a browser it is skipped, except where one is required (CI)."""
    here = Path(__file__).parent
    absent = not Path(CHROMIUM).exists() and not os.environ.get("TRIOSCOPE_REQUIRE_BROWSER")
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(420))
            if absent:
                item.add_marker(pytest.mark.skip(reason=f"no browser at {CHROMIUM} (set TRIOSCOPE_CHROMIUM)"))


def launch(data_dir: Path, *flags: str) -> App:
    """Starts `app.py --profile scripted` on a free port and waits for the line with its address."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRIOSCOPE", "GRADIO_SERVER"))}
    sets = [part for flag in (f"data_dir={data_dir}", *flags) for part in ("--set", flag)]
    log = (data_dir / "app.log").open("w+")
    process = subprocess.Popen(
        [sys.executable, "app.py", "--profile", "scripted", "--port", "0", *sets], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=log, text=True
    )
    assert process.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        until = time.monotonic() + START_S
        while time.monotonic() < until and process.poll() is None:
            if ready.select(1.0) and (line := process.stdout.readline()).startswith("Trioscope: "):
                return App(line.split()[1].rstrip("/"), data_dir, process)
    process.kill()
    raise AssertionError(f"the app did not start:\n{(data_dir / 'app.log').read_text()}")


def end(app: App) -> int:
    """Ends an app as a user does (Ctrl-C); its exit status."""
    if app.process.poll() is None:
        app.process.send_signal(signal.SIGINT)
        try:
            app.process.wait(60)
        except subprocess.TimeoutExpired:
            app.process.kill()
    return app.process.wait(5)


def slow_script(delay_s: float, replies: int = 400) -> dict[str, Any]:
    """Replies of all roles, each after a pause: for tests that look at a run under way. TRIO never ends before its limit."""
    def many(text: str, **more: Any) -> list[dict[str, Any]]:
        return [{"text": text.replace("#", str(n)), "delay_s": delay_s, **more} for n in range(replies)]

    return {
        "query": many("Casablanca director birthplace #"), "judge": many("Insufficient Information", p_sufficient=0.21),
        "answer": many("Budapest"),
        "plan": many("Director of the film -> Casablanca director #\nBirthplace -> Michael Curtiz born #"),
        "refine": many("Knowledge:\n- Fact #: Casablanca was directed by Michael Curtiz.\nSummary: Curtiz directed Casablanca (#)."),
    }


@pytest.fixture(scope="session")
def start_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., App]]:
    """A function that starts an app: settings as `a.b=value`, `script=` a mapping of replies."""
    apps: list[App] = []

    def start(*flags: str, script: dict[str, Any] | None = None) -> App:
        folder = tmp_path_factory.mktemp("app")
        if script is not None:
            (folder / "script.yaml").write_text(yaml.safe_dump(script))
            flags = (*flags, f"engine.script={folder / 'script.yaml'}")
        apps.append(launch(folder, *flags))
        return apps[-1]

    yield start
    for app in apps:
        end(app)


@pytest.fixture(scope="session")
def app(start_app: Callable[..., App]) -> App:
    """The usual app: replies by rule, at once."""
    return start_app()


@pytest.fixture(scope="session")
def slow_app(start_app: Callable[..., App]) -> App:
    """An app whose every reply takes a while."""
    return start_app(script=slow_script(0.7))


@pytest.fixture(scope="session")
def app_url(app: App) -> str:
    """Its address, without a slash at the end."""
    return app.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium a module, not a session: while Playwright runs in a thread, no asyncio test can run in it."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens a page in a browser context of its own; script errors and foreign requests fail the test."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def new(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 960}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda r: faults.append(f"foreign request: {r.url}") if r.url.startswith("http") and "//127.0.0.1" not in r.url else None)
        return page

    yield new
    for context in contexts:
        context.close()
    assert not faults, json.dumps(faults, indent=1)


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page of 1440 x 960."""
    return new_page()
