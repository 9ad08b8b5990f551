"""The learning loop on the command line.

    python -m training items                              label items with gold labels from the demo questions
    python -m training snapshot --held-out 0.4            freeze the labels into a training set
    python -m training train --snapshot 1 [--job KEY=VALUE …] [--plan]
    python -m training evaluate [NAME]                    figures of a judge version, or of all
    python -m training promote judge-1 [--by NAME] [--reason TEXT]

All take the settings flags (--profile, --settings, --set). An app on the same data folder sees everything at once; only a judge
promoted here becomes live there at its next start.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import yaml

from storage.store import open_store
from storage.values import JobState, SnapshotRequest
from training.service import TrainingService
from training.values import JobView, TrainingPlan
from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.errors import SettingsError, TrioscopeError

WAIT_S = 2.0
GOING_ON: frozenset[JobState] = frozenset({"queued", "running", "stopping"})


def items(service: TrainingService, args: argparse.Namespace) -> None:
    """Makes label items from the demo questions."""
    counts = service.make_demo_items()
    print(f"{counts.items} items of {counts.questions} questions ({counts.added} new): {counts.sufficient} sufficient, "
          f"{counts.insufficient} insufficient; {counts.skipped_long} too long")


def snapshot(service: TrainingService, args: argparse.Namespace) -> None:
    """Freezes the labels."""
    made = service.store.create_snapshot(SnapshotRequest(held_out_fraction=args.held_out, seed=args.seed, balance=args.balance))
    print(f"snapshot {made.id}: {made.rows('train')} training rows, {made.rows('held_out')} held-out rows; "
          f"left out: {made.manifest.dropped}")


def train(service: TrainingService, args: argparse.Namespace) -> None:
    """Plans, starts and follows a job. Ctrl-C stops it after a checkpoint."""
    overrides = dict(_pair(text) for text in args.job)
    _print_plan(service.plan(args.snapshot, overrides))
    if args.plan:
        return
    job = service.start(args.snapshot, overrides)
    shown = ""
    while (view := service.job_view(job.id)).job.state in GOING_ON:
        try:
            line = _line(view)
            if line != shown:
                print(line, flush=True)
            shown = line
            time.sleep(WAIT_S)
        except KeyboardInterrupt:
            service.abort(job.id)
    print(_line(view))
    if view.job.state != "done":
        raise SystemExit(f"job {job.id} {view.job.state}: {view.job.error}\n{view.log_tail[-2000:]}")
    print(f"{view.judge}: a candidate; make it live with: python -m training promote {view.judge}")


def evaluate(service: TrainingService, args: argparse.Namespace) -> None:
    """Prints the held-out figures of judge versions."""
    versions = service.store.judge_versions()
    for version in versions if args.name is None else [service.store.judge_version(args.name)]:
        print(f"{version.name} ({version.state}, threshold {version.threshold:.3f})")
        for when in ("before", "after"):
            if figures := version.scores.get(when):
                print(f"  {when}: " + ", ".join(f"{key} {value:.3f}" for key, value in figures.items() if isinstance(value, float)))


def promote(service: TrainingService, args: argparse.Namespace) -> None:
    """Makes a judge live in the store."""
    version = service.promote(args.name, by=args.by or service.settings.annotator, reason=args.reason)
    print(f"{version.name} is live; an app that runs uses it from its next start on")


def _print_plan(plan: TrainingPlan) -> None:
    print(f"base model {plan.base_model}; rows {plan.rows}; {plan.steps} steps; about {plan.estimated_minutes:.0f} minutes")
    for row in plan.dropped:
        print(f"  not used: item {row.item_id} ({row.split}, {row.label}, {row.tokens} tokens): {row.reason}")
    for text in (*plan.notes, *plan.problems):
        print(f"  {text}")
    print(plan.command)


def _line(view: JobView) -> str:
    progress = view.job.progress
    left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
    loss = f", loss {progress.figures['loss']:.3f}" if "loss" in progress.figures else ""
    return f"job {view.job.id} {view.job.state}: {progress.stage}, step {progress.step} of {progress.steps}{loss}{left}"


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(f"--job {text!r} has no '='; write --job epochs=2")
    return key, yaml.safe_load(value)


def parser() -> argparse.ArgumentParser:
    """All commands."""
    root = argparse.ArgumentParser(prog="python -m training", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    made = {run.__name__: commands.add_parser(run.__name__, help=(run.__doc__ or "").split("\n")[0])
            for run in (items, snapshot, train, evaluate, promote)}
    for run in (items, snapshot, train, evaluate, promote):
        made[run.__name__].set_defaults(run=run)
        add_settings_flags(made[run.__name__])
    made["snapshot"].add_argument("--held-out", type=float, default=0.4, help="share of the questions to hold out (default 0.4)")
    made["snapshot"].add_argument("--seed", type=int, default=13)
    made["snapshot"].add_argument("--balance", action="store_true", help="as many training rows of each label")
    made["train"].add_argument("--snapshot", type=int, required=True, metavar="ID")
    made["train"].add_argument("--job", action="append", default=[], metavar="KEY=VALUE", help="e.g. --job epochs=2; may be repeated")
    made["train"].add_argument("--plan", action="store_true", help="only say what would be done")
    made["evaluate"].add_argument("name", nargs="?")
    made["promote"].add_argument("name")
    made["promote"].add_argument("--by", default="", help="your name (default: the settings' annotator)")
    made["promote"].add_argument("--reason", default="")
    return root


def main(argv: list[str] | None = None) -> int:
    """Runs a command; errors that a person can mend are one line and status 1."""
    args = parser().parse_args(argv)
    try:
        settings = settings_from_args(args)
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        store = open_store(settings.database_url)
        service = TrainingService(settings, store)
        service.sweep()
        args.run(service, args)
        return 0
    except TrioscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
