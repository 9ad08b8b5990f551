"""From a fresh clone to the first answered question: `make app` with downloads, then `make app` again."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests.benchmarks.common import demo_questions, table, write_report

ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--keep", action="store_true", help="keep the clone")


def main(args: argparse.Namespace) -> None:
    """Two starts of one clone."""
    folder = Path(tempfile.mkdtemp(prefix="trioscope-"))
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    try:
        first = _start(clone)
        second = _start(clone)
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    rows = [[name, f"{page:.0f}", f"{ready:.0f}", f"{answered:.0f}", target] for name, (page, ready, answered), target in (
        ("fresh clone", first, "720 (first answer)"), ("again", second, "40 (page)"))]
    body = table(["`make app`", "page answers, s", "engine ready, s", "first question answered, s", "target s"], rows)
    write_report("startup", "From a fresh clone to the first answer", body, {"fresh": first, "again": second})


def _start(clone: Path) -> tuple[float, float, float]:
    """Seconds until the page answers, the engine is ready and a TRIO run has ended; the app is ended again."""
    began = time.monotonic()
    # Without pip's cache, so that the downloads are part of it.
    env = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}} | {"PIP_NO_CACHE_DIR": "1"}
    with (clone / "make.log").open("w") as log:
        app = subprocess.Popen(["make", "app", "ARGS=--set server.port=0"], cwd=clone, stdout=log, stderr=log, env=env, start_new_session=True)
    try:
        url = _url(app, clone / "make.log")
        page = time.monotonic() - began
        ready = _answered(url, began)
        return page, *ready
    finally:
        os.killpg(app.pid, signal.SIGTERM)
        app.wait(timeout=60)


def _answered(url: str, began: float) -> tuple[float, float]:
    """Seconds until the status line says that the engine is ready, and until a TRIO run asked at once has its answer."""
    from playwright.sync_api import sync_playwright

    from tests.e2e.conftest import CHROMIUM, FLAGS

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(url)
        box = page.locator("#ts-question textarea")
        box.wait_for()
        page.wait_for_timeout(1500)
        box.fill(demo_questions(1)[0].question)
        box.press("Enter")
        page.locator("#ts-board .state.live").first.wait_for(timeout=600_000)
        ready = time.monotonic() - began
        page.locator("#ts-board .state.finished").first.wait_for(timeout=600_000)
        answered = time.monotonic() - began
        browser.close()
    return ready, answered


def _url(app: subprocess.Popen[bytes], log: Path) -> str:
    while app.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text(errors="replace"))
        if found:
            return found.group(0)
        time.sleep(0.5)
    raise SystemExit(log.read_text(errors="replace")[-2000:])
