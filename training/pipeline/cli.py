"""`python -m training pipeline run|plan|show`: TRIO's Algorithm 1 on the command line.

    python -m training pipeline plan --profile trio-4b                            counts, steps and cost; runs nothing
    python -m training pipeline run  --profile cpu-smoke [--out runs/b]           the same line goes on after a stop (Ctrl-C, SIGTERM)
    python -m training pipeline run  … --recipe answer.reward.alpha=1 --again answer
    python -m training pipeline show --out runs/b [--step debate] [--rows 3]      what the steps counted, and rows of their data

`--profile` is the training's profile or a YAML file of that form; the app's settings (model server, retriever, store) come by
--app-profile, --settings and --set. Exit status: 0 done, 1 failed, 3 stopped.
"""

from __future__ import annotations

import argparse
import json
import logging
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from training.cli_jobs import pairs
from training.pipeline.command import RUNS, default_out, remember
from training.pipeline.plan import Plan, make_plan
from training.pipeline.profile import PipelineProfile, load_profile, profile_names
from training.pipeline.run import STEPS, finished, run_pipeline
from training.stop import Stopped, StopRequest
from trio_core.errors import TrioscopeError
from trio_core.settings import Settings, load_settings

WIDTH = 240


def run(args: argparse.Namespace) -> int:
    """Run the steps that are missing."""
    profile, settings = _chosen(args)
    out = args.out or default_out(settings.data_dir, args.profile)
    stop = StopRequest()
    stop.listen()
    signal.signal(signal.SIGINT, lambda *_: setattr(stop, "wanted", True))
    began = partial(remember, out, profile=args.profile, recipe=args.recipe, app_profile=args.app_profile, settings=args.settings,
                    overrides=args.overrides, snapshot=args.snapshot)
    try:
        done = run_pipeline(profile, settings, out, stop, snapshot_id=args.snapshot, again=args.again, until=args.until, began=began)
    except Stopped:
        print(f"stopped; the same command goes on in {out}")
        return 3
    for name, made in done.items():
        print(f"{name}: {json.dumps(made.report, default=str)}")
    print(f"all of it lies in {out}; python -m training pipeline show --out {shlex.quote(str(out))}, or the app's Training page")
    return 0


def plan(args: argparse.Namespace) -> int:
    """Say what would be done and what it would cost."""
    profile, settings = _chosen(args)
    made = make_plan(profile, settings, args.out or default_out(settings.data_dir, args.profile))
    print(made.model_dump_json(indent=1) if args.json else plan_text(made))
    return 0


def plan_text(made: Plan) -> str:
    """A plan for people."""
    lines = [f"profile {made.profile}, base model {made.base}"]
    for step in made.steps:
        counted = (("samples", step.samples), ("optimiser steps", step.steps), ("calls", step.calls))
        figures = [f"{value:,} {name}" for name, value in counted if value]
        cost = f"{step.gpu_hours:g} hours ({step.based_on})" if step.gpu_hours is not None else "hours unknown: nothing measured yet"
        lines.append(f"{step.name:10} {step.state:6} {step.does}: {', '.join(figures) or 'counts unknown'}; {cost}")
    known = [step.gpu_hours for step in made.steps if step.gpu_hours is not None and step.state != "done"]
    lines.append(f"still to do, as far as known: {sum(known):.3g} hours")
    return "\n".join([*lines, *made.notes])


def show(args: argparse.Namespace) -> int:
    """Print what the steps left."""
    done = finished(args.out)
    for step in STEPS:
        if args.step not in ("", step.name):
            continue
        made = done.get(step.name)
        print(f"{step.name}: {json.dumps(made.report, default=str) if made else 'not done'}")
        for file in sorted((args.out / step.name).rglob("*.jsonl")) if args.step else ():
            if "checkpoints" not in file.parts:
                _rows(file, args.rows)
    return 0


def _rows(file: Path, rows: int) -> None:
    lines = file.read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if line]
    print(f"  {file.name}: {len(lines)} rows")
    for line in lines[:rows]:
        print(f"    {line[:WIDTH]}{'…' if len(line) > WIDTH else ''}")


def _chosen(args: argparse.Namespace) -> tuple[PipelineProfile, Settings]:
    changes: dict[str, Any] = pairs(args.recipe)
    return load_profile(args.profile, changes), load_settings(profile=args.app_profile, file=args.settings, flags=args.overrides)


def parser() -> argparse.ArgumentParser:
    """The three commands."""
    root = argparse.ArgumentParser(prog="python -m training pipeline", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for work in (run, plan, show):
        made = commands.add_parser(work.__name__, help=work.__doc__)
        made.set_defaults(run=work)
        made.add_argument("--out", type=Path, required=work is show, metavar="DIR",
                          help="folder of the run" + ("" if work is show else f" (default: {RUNS}/PROFILE in the app's data folder)"))
        if work is show:
            made.add_argument("--step", default="", choices=["", *(step.name for step in STEPS)])
            made.add_argument("--rows", type=int, default=3)
            continue
        made.add_argument("--profile", default="cpu-smoke", help=f"{', '.join(profile_names())}, or a YAML file")
        made.add_argument("--recipe", action="append", default=[], metavar="KEY=VALUE", help="a setting of the profile; may be repeated")
        made.add_argument("--app-profile", metavar="NAME", help="the app's profile: its model server and retriever")
        made.add_argument("--settings", type=Path, metavar="FILE")
        made.add_argument("--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE", help="a setting of the app")
        if work is run:
            made.add_argument("--snapshot", type=int, metavar="ID", help="people's labels of this snapshot overrule votes")
            made.add_argument("--again", default="", metavar="STEP", help="make this step and what follows anew")
            made.add_argument("--until", default="", metavar="STEP", help="the last step to run")
        else:
            made.add_argument("--json", action="store_true")
    return root


def main(argv: list[str]) -> int:
    """Runs a command; errors that a person can mend are one line and status 1."""
    args = parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        return int(args.run(args))
    except TrioscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
