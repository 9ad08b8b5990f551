"""Trioscope: `python app.py`, then open the address that it prints."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from storage import open_store
from training.service import TrainingService
from trio_core.demo.recorded import import_recorded
from trio_core.errors import TrioscopeError
from trio_core.settings import Settings, load_settings
from trio_core.workbench import Workbench
from ui import build_app
from ui.context import UiContext
from ui.sessions import share_configurations
from ui.theme import launch_options


def main() -> None:
    """Status 0 after a signal; 2 and a reason on stderr when a setting, the store or the port cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", help="embedded (default), scripted or vllm")
    parser.add_argument("--settings", type=Path, dest="file", help="a YAML file of settings")
    parser.add_argument("--set", action="append", dest="flags", default=[], metavar="KEY=VALUE", help="one setting: engine.total_s=60")
    parser.add_argument("--host", action="append", dest="flags", type="server.host={}".format, help="default 127.0.0.1")
    parser.add_argument("--port", action="append", dest="flags", type="server.port={}".format, help="default 7860; 0 = any free")
    try:
        serve(load_settings(**vars(parser.parse_args())))
    except (TrioscopeError, OSError) as error:
        print(f"trioscope: {error}", file=sys.stderr)
        sys.exit(2)


def serve(settings: Settings) -> None:
    """Serves until SIGINT or SIGTERM; the engine comes up in the background while the pages can be read."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    store = open_store(settings.database_url)
    import_recorded(store)
    workbench = Workbench(settings, store, judge=store.live_judge().adapter(settings.data_dir))
    ctx = UiContext(settings, store, workbench, TrainingService(settings, store, workbench))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # both signals end the app the same way
    try:
        workbench.bring_up()
        ctx.training.sweep()
        demo = build_app(ctx)
        demo.queue(default_concurrency_limit=64).launch(**launch_options(settings), prevent_thread_lock=True)
        share_configurations(demo)
        print(f"Trioscope: {demo.local_url} (profile {settings.profile}, data in {settings.data_dir})", flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        pass  # runs are interrupted at once, not after the web server has waited for its open connections
    finally:
        ctx.evaluations.close()
        workbench.close()
        store.close()


if __name__ == "__main__":
    main()
