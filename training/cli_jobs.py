"""Commands of `python -m training` that ask a model server, and following any job in a terminal."""

from __future__ import annotations

import argparse
import time
from typing import Any

import yaml

from storage.values import Job, JobState
from training.gate_values import METRICS, GateReport
from training.service import TrainingService
from training.values import JobView
from trio_core.errors import SettingsError

WAIT_S = 0.5
GOING_ON: frozenset[JobState] = frozenset({"queued", "running", "stopping"})


def votes(service: TrainingService, args: argparse.Namespace) -> None:
    """Labels items by the answer agent's votes (TRIO's unanimity rule)."""
    view = follow(service, service.label_by_votes(**pairs(args.job)))
    found = view.report
    print(f"{found['items']} items by {found['samples']} answers of {found['answer_model']}: {found.get('sufficient', 0)} sufficient, "
          f"{found.get('insufficient', 0)} insufficient, {found.get('mixed', 0)} mixed (no label); "
          f"{found['no_gold_answer']} items without a known answer")


def threshold(service: TrainingService, args: argparse.Namespace) -> None:
    """Tunes a threshold on a snapshot's training labels."""
    print(fitted(follow(service, service.fit_threshold(args.snapshot, args.judge, **pairs(args.job)))))


def head(service: TrainingService, args: argparse.Namespace) -> None:
    """Fits a calibrated head on a snapshot's training labels."""
    print(fitted(follow(service, service.fit_head(args.snapshot, args.judge, pairs(args.head), **pairs(args.job)))))


def gate(service: TrainingService, args: argparse.Namespace) -> None:
    """Compares a candidate with the live judge on held-out labels."""
    runs = None if args.questions is None else {"questions": args.questions, "dataset": args.dataset}
    print("\n".join(gate_lines(GateReport.model_validate(follow(service, service.run_gate(
        args.name, args.snapshot, runs, **pairs(args.job))).report))))


def starter(service: TrainingService, args: argparse.Namespace) -> None:
    """Adds the head that comes with Trioscope as a candidate."""
    version = service.add_starter()
    print(f"{version.name} is a candidate; `python -m training gate {version.name}` compares it with the live judge")


def rollback(service: TrainingService, args: argparse.Namespace) -> None:
    """Makes the judge live that was live before."""
    version = service.rollback(args.by or service.settings.annotator, args.reason)
    print(f"{version.name} is live again; an app that runs uses it from its next start on")


def jobs(service: TrainingService, args: argparse.Namespace) -> None:
    """Lists the jobs; --abort and --resume act on one."""
    if args.abort is not None:
        print(line_of(service.job_view(service.abort(args.abort).id)))
    elif args.resume is not None:
        follow(service, service.resume(args.resume))
    else:
        for job in service.store.jobs():
            print(line_of(service.job_view(job.id)) + (f"  ({job.error})" if job.error else ""))


def follow(service: TrainingService, job: Job) -> JobView:
    """Prints a line whenever something changed, until the job has ended. Ctrl-C asks it to stop, twice kills it.

    Raises SystemExit with the reason unless it is done.
    """
    shown = ""
    while (view := service.job_view(job.id)).job.state in GOING_ON:
        try:
            line = line_of(view)
            if line != shown:
                print(line, flush=True)
            shown = line
            time.sleep(WAIT_S)
        except KeyboardInterrupt:
            service.abort(job.id)
    print(line_of(view))
    if view.job.state != "done":
        raise SystemExit(f"job {job.id} {view.job.state}: {view.job.error or 'go on with --resume'}\n{view.log_tail[-2000:]}")
    return view


def line_of(view: JobView) -> str:
    """A job in one line."""
    progress = view.job.progress
    left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None and view.job.state in GOING_ON else ""
    loss = f", loss {progress.figures['loss']:.3f}" if "loss" in progress.figures else ""
    return f"job {view.job.id} ({view.job.kind}) {view.job.state}: {progress.stage}, {progress.step} of {progress.steps}{loss}{left}"


def fitted(view: JobView) -> str:
    """What came of a fit."""
    found = view.evaluation
    figures = "no held-out item" if found is None or not found.after.rows else (
        f"{found.after.rows} held-out items: AUROC {_number(found.before.auroc)} -> {_number(found.after.auroc)}, ECE "
        f"{found.before.ece:.3f} -> {found.after.ece:.3f}, balanced accuracy {_number(found.before.balanced_accuracy_tuned)} -> "
        f"{_number(found.after.balanced_accuracy_tuned)}")
    notes = "".join(f"\n  {note}" for note in view.report.get("notes", ()))
    return f"{view.judge}: a candidate; {figures}{notes}\ncompare it with the live judge: python -m training gate {view.judge}"


def gate_lines(report: GateReport) -> list[str]:
    """The report as lines of text."""
    lines = [f"{report.candidate} against {report.live} on {report.rows} held-out items {report.counts}"]
    for name, words in METRICS.items():
        found, old, new = report.differences[name], report.live_side.figures[name], report.candidate_side.figures[name]
        interval = f" ({found.low:+.3f} to {found.high:+.3f})" if found.low is not None and found.high is not None else ""
        lines.append(f"  {words}: {_number(old)} -> {_number(new)}{interval}")
    lines.append(f"  {len(report.flips)} verdicts changed, {sum(flip.mended for flip in report.flips)} of them to the label")
    if report.downstream is not None:
        old_runs, new_runs = report.downstream.live, report.downstream.candidate
        lines += [f"  {name} of {report.downstream.questions} runs: {getattr(old_runs, name):.3f} -> {getattr(new_runs, name):.3f}"
                  for name in ("em", "f1", "rounds", "calls")]
    lines += [f"  [{'x' if check.passed else ' '}] {check.words}" for check in report.checks]
    return [*lines, report.words]


def pairs(texts: list[str]) -> dict[str, Any]:
    """`KEY=VALUE` texts as settings. Raises SettingsError."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"{text!r} has no '='; write KEY=VALUE, for example epochs=2")
        found[key] = yaml.safe_load(value)
    return found


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
