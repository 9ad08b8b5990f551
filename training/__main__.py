"""The learning loop on the command line.

    python -m training items                              label items with gold labels from the demo questions
    python -m training votes [--job KEY=VALUE …]          label items by the answer agent's votes (samples=16 max_items=50 …)
    python -m training snapshot --held-out 0.4            freeze the labels into a training set
    python -m training train --snapshot 1 [--job KEY=VALUE …] [--plan]
    python -m training threshold --snapshot 1 [--judge judge-1]
    python -m training head --snapshot 1 [--judge judge-1] [--head KEY=VALUE …]
    python -m training evaluate [NAME]                    figures of a judge version, or of all
    python -m training gate NAME [--questions 40]         against the live judge; whole runs too with --questions
    python -m training starter                            the head that comes with Trioscope, as a candidate
    python -m training promote NAME [--by NAME] [--reason TEXT]
    python -m training rollback
    python -m training jobs [--abort ID | --resume ID]
    python -m training pipeline run|plan|show --out DIR   TRIO's three agents from questions and a corpus (its own flags: see --help)
    python -m training footprint --run DIR                one base with three adapters against three checkpoints, in bytes
    python -m training merge --base MODEL --adapter FOLDER --out FOLDER   a checkpoint with the adapter merged in, checked

All take the settings flags (--profile, --settings, --set). An app on the same data folder sees everything at once; only a judge
promoted here becomes live there at its next start.
"""

from __future__ import annotations

import argparse
import sys

from storage.store import open_store
from storage.values import SnapshotRequest
from training import cli_jobs, footprint_cli, merge_cli
from training.cli_jobs import follow, pairs
from training.service import TrainingService
from training.values import TrainingPlan
from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.errors import TrioscopeError


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
    """Plans, starts and follows a training. Ctrl-C stops it after a checkpoint."""
    overrides = pairs(args.job)
    _print_plan(service.plan(args.snapshot, overrides))
    if not args.plan:
        view = follow(service, service.start(args.snapshot, overrides))
        print(f"{view.judge}: a candidate; compare it with the live judge: python -m training gate {view.judge}")


def evaluate(service: TrainingService, args: argparse.Namespace) -> None:
    """Prints the held-out figures of judge versions."""
    versions = service.store.judge_versions()
    for version in versions if args.name is None else [service.store.judge_version(args.name)]:
        print(f"{version.name} ({version.kind}, {version.state}, threshold {version.threshold:.3f})")
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


COMMANDS = (items, cli_jobs.votes, snapshot, train, cli_jobs.threshold, cli_jobs.head, evaluate, cli_jobs.gate, promote,
            cli_jobs.rollback, cli_jobs.starter, cli_jobs.jobs)


def parser() -> argparse.ArgumentParser:
    """All commands."""
    root = argparse.ArgumentParser(prog="python -m training", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    made: dict[str, argparse.ArgumentParser] = {}
    for run in COMMANDS:
        made[run.__name__] = commands.add_parser(run.__name__, help=(run.__doc__ or "").split("\n")[0])
        made[run.__name__].set_defaults(run=run)
        add_settings_flags(made[run.__name__])
    made["snapshot"].add_argument("--held-out", type=float, default=0.4, help="share of the questions to hold out (default 0.4)")
    made["snapshot"].add_argument("--seed", type=int, default=13)
    made["snapshot"].add_argument("--balance", action="store_true", help="as many training rows of each label")
    for name in ("train", "threshold", "head"):
        made[name].add_argument("--snapshot", type=int, required=True, metavar="ID")
    for name in ("threshold", "head"):
        made[name].add_argument("--judge", default="zero-shot", help="the judge that it sits on (default zero-shot)")
    for name in ("votes", "train", "threshold", "head", "gate"):
        made[name].add_argument("--job", action="append", default=[], metavar="KEY=VALUE", help="e.g. --job epochs=2; may be repeated")
    made["head"].add_argument("--head", action="append", default=[], metavar="KEY=VALUE", help="e.g. --head samples=0; may be repeated")
    made["train"].add_argument("--plan", action="store_true", help="only say what would be done")
    made["gate"].add_argument("--snapshot", type=int, metavar="ID", help="its held-out labels (default: the candidate's own)")
    made["gate"].add_argument("--questions", type=int, help="also run so many questions whole with both judges")
    made["gate"].add_argument("--dataset", default="demo", help="their source: demo, or a FlashRAG jsonl file")
    made["evaluate"].add_argument("name", nargs="?")
    for name in ("promote", "gate"):
        made[name].add_argument("name")
    for name in ("promote", "rollback"):
        made[name].add_argument("--by", default="", help="your name (default: the settings' annotator)")
        made[name].add_argument("--reason", default="")
    made["jobs"].add_argument("--abort", type=int, metavar="ID")
    made["jobs"].add_argument("--resume", type=int, metavar="ID")
    return root


def main(argv: list[str] | None = None) -> int:
    """Runs a command; errors that a person can mend are one line and status 1."""
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["pipeline"]:
        from training.pipeline import cli  # with the retriever's and the engines' imports, which no other command needs

        return cli.main(given[1:])
    if given[:1] == ["footprint"]:
        return footprint_cli.main(given[1:])
    if given[:1] == ["merge"]:
        return merge_cli.main(given[1:])
    args = parser().parse_args(given)
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
