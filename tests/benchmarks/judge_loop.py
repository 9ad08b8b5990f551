"""The judge loop on the demo corpus: items with gold labels -> snapshot -> one CPU training -> held-out scores before and after."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from storage import Store, open_store
from storage.values import SnapshotRequest
from tests.benchmarks.common import demo_questions, table, write_report
from training.service import TrainingService
from trio_core.events import Verdict
from trio_core.memory_store import MemoryStore
from trio_core.runs import RunRequest
from trio_core.settings import Settings, load_settings
from trio_core.workbench import Workbench

ENDED = {"done", "failed", "stopped"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--data-dir", type=Path, default=Path("var/judge-loop"))
    parser.add_argument("--set", action="append", default=[], help="a setting, e.g. training.base_model=FOLDER")
    parser.add_argument("--train-rows", type=int, default=140)
    parser.add_argument("--eval-rows", type=int, default=100)
    parser.add_argument("--threshold-rows", type=int, default=40)
    parser.add_argument("--promote-last", action="store_true", help="train nothing; make the last judge live and ask one question")


def main(args: argparse.Namespace) -> None:
    """Trains one judge and reports what came, better or worse. The model file and its dequantised copy are those of `var`."""
    settings = load_settings("embedded", env={}, flags=args.set)
    args.data_dir.mkdir(parents=True, exist_ok=True)
    store = open_store(f"sqlite:///{args.data_dir / 'judge.db'}")
    if args.promote_last:
        promote_last(settings, store)
        return
    service = TrainingService(settings, store, None)
    try:
        items = service.make_demo_items(lambda what, share: None)
        snapshot = store.create_snapshot(SnapshotRequest(held_out_fraction=0.4, seed=13, sources=frozenset({"gold"}), balance=True))
        overrides = {"max_rows": args.train_rows, "eval_rows": args.eval_rows, "threshold_rows": args.threshold_rows}
        plan = service.plan(snapshot.id, overrides)
        print(plan.model_dump_json(indent=1, exclude={"dropped"}), flush=True)
        began = time.monotonic()
        job = service.start(snapshot.id, overrides)
        while (view := service.job_view(job.id)).job.state not in ENDED:
            print(view.job.progress, flush=True)
            time.sleep(15)
        seconds = time.monotonic() - began
        if view.job.state != "done":
            raise SystemExit(f"training {view.job.state}: {view.job.error}\n{view.log_tail}")
        version = store.judge_versions()[-1]
    finally:
        service.close()
        store.close()
    scores = version.scores
    names = [k for k, v in scores["before"].items() if isinstance(v, (int, float))]
    body = [f"Items: {items.model_dump()}", "", f"Snapshot: {snapshot.manifest.counts}, dropped {snapshot.manifest.dropped}", "",
            f"Training: {seconds / 60:.1f} minutes in all (loading, held-out scores before, training, held-out scores after).", ""]
    body += table(["held-out items", "zero-shot", version.name], [[n, _figure(scores["before"][n]), _figure(scores["after"][n])] for n in names])
    write_report("judge_loop", "One CPU training of the judge on the demo corpus", body,
                 {"plan": plan.model_dump(mode="json"), "scores": scores, "seconds": seconds, "manifest": snapshot.manifest.model_dump(mode="json")}, settings)


def promote_last(settings: Settings, store: Store) -> None:
    """Makes the last judge live in the real engine, compares P(sufficient) with transformers, and runs TRIO with it."""
    bench = Workbench(settings, MemoryStore())
    bench.bring_up(wait=True)
    try:
        name = store.judge_versions()[-1].name
        version = TrainingService(settings, store, bench).promote(name, by="benchmark", reason="measured by the judge loop")
        question = demo_questions(1)[0]
        run_id = bench.start_run(RunRequest(question=question.question, method="trio", gold=question.gold))
        bench.wait_run(run_id)
        snapshot = bench.poll(run_id)
        assert snapshot is not None
        verdicts = [e for e in snapshot.events if isinstance(e, Verdict)]
    finally:
        bench.close()
        store.close()
    served = version.scores.get("served", {})
    body = [f"Live judge: {version.name}, threshold {version.threshold:.3f}", "", f"One held-out item, P(sufficient): {served}", ""]
    body += table(["round", "verdict", "P(sufficient)", "judged by"], [[v.round, v.label, _figure(v.p_sufficient or 0.0), v.judged_by] for v in verdicts])
    write_report("judge_promotion", "A trained judge goes live without a restart of the app", body,
                 {"served": served, "verdicts": [v.model_dump(mode="json", exclude={"item"}) for v in verdicts]}, settings)


def _figure(value: float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
