"""Judge versions and jobs: one live judge, one job of a kind, and a state only from a state it may follow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_helpers import Clock

from storage import Store, open_store
from storage.values import JobProgress
from trio_core.errors import StoreError


def test_zero_shot_is_live_at_first_and_candidates_are_numbered(store: Store) -> None:
    assert store.live_judge().name == "zero-shot"
    made = [store.add_judge_version("base", peft_dir="judges/a", scores={"kappa": 0.5}, threshold=0.4) for _ in range(2)]
    assert [judge.name for judge in made] == ["judge-1", "judge-2"]
    assert [judge.name for judge in store.judge_versions()] == ["zero-shot", "judge-1", "judge-2"]
    adapter = made[0].adapter(Path("/data"))
    assert (adapter.peft_dir, adapter.gguf, adapter.threshold) == (Path("/data/judges/a"), None, 0.4)
    assert store.judge_version("judge-1") == made[0]


def test_promotion_retires_the_old_judge_and_can_be_taken_back(store: Store) -> None:
    store.add_judge_version("base")
    live = store.promote("judge-1", "ann", "gate passed")
    assert live == store.live_judge() and (live.promoted_by, live.reason) == ("ann", "gate passed")
    assert store.judge_version("zero-shot").state == "retired"
    store.promote("zero-shot", "bob", "rollback")
    assert [(p.judge, p.previous, p.by) for p in store.promotions()] == [("zero-shot", "judge-1", "bob"), ("judge-1", "zero-shot", "ann")]
    assert store.live_judge().name == "zero-shot"


def test_promotions_that_make_no_sense_are_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="live already"):
        store.promote("zero-shot", "ann")
    with pytest.raises(StoreError, match="'judge-9' does not exist; there are zero-shot"):
        store.promote("judge-9", "ann")
    assert store.promotions() == [] and store.live_judge().name == "zero-shot"


def test_scores_change_only_while_a_judge_is_a_candidate(store: Store) -> None:
    store.add_judge_version("base")
    assert store.set_judge_scores("judge-1", {"f1": 0.9}, threshold=0.7).threshold == 0.7
    store.promote("judge-1", "ann")
    with pytest.raises(StoreError, match="is live"):
        store.set_judge_scores("judge-1", {"f1": 1.0})
    assert store.live_judge().scores == {"f1": 0.9}


def test_two_apps_promoting_at_once_leave_one_live_judge(url: str) -> None:
    with_two = [open_store(url), open_store(url)]
    for _ in range(8):
        with_two[0].add_judge_version("base")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: with_two[i % 2].promote(f"judge-{i + 1}", "ann"), range(8)))
    assert [judge.state for judge in with_two[0].judge_versions()].count("live") == 1
    assert len(with_two[1].promotions()) == 8
    for store in with_two:
        store.close()


def test_job_goes_through_its_states(store: Store, clock: Clock) -> None:
    job = store.create_job("judge_sft", {"rank": 16, "out": Path("x")}, log_path="logs/1.log")
    assert (job.state, job.config, job.log_path) == ("queued", {"rank": 16, "out": "x"}, "logs/1.log")
    running = store.set_job_state(job.id, "running", pid=42)
    assert (running.pid, running.started) == (42, clock.now)
    progress = JobProgress(step=3, steps=9, seconds_left=12.5, figures={"loss": 0.4})
    assert store.set_job_progress(job.id, progress) == "running"
    assert store.job(job.id).progress == progress
    store.set_job_state(job.id, "stopping")
    assert store.set_job_progress(job.id, progress) == "stopping"
    clock.forward(5)
    assert store.set_job_state(job.id, "stopped").ended == clock.now
    resumed = store.set_job_state(job.id, "queued")
    assert (resumed.pid, resumed.ended, resumed.progress) == (None, None, progress)


@pytest.mark.parametrize(("path", "wrong"), [((), "stopping"), ((), "done"), (("running", "done"), "queued"), (("running", "stopping"), "running")])
def test_illegal_transitions_name_both_states(store: Store, path: tuple, wrong: str) -> None:
    job = store.create_job("judge_sft", {})
    for state in path:
        store.set_job_state(job.id, state)
    before = path[-1] if path else "queued"
    with pytest.raises(StoreError, match=f"is {before} and cannot become {wrong}"):
        store.set_job_state(job.id, wrong)
    assert store.job(job.id).state == before


def test_second_active_job_of_a_kind_is_refused_by_name(store: Store) -> None:
    first = store.create_job("judge_sft", {})
    with pytest.raises(StoreError, match=rf"job {first.id} \(judge_sft\) is queued"):
        store.create_job("judge_sft", {})
    store.create_job("evaluate", {})
    store.set_job_state(first.id, "failed", error="no memory")
    second = store.create_job("judge_sft", {})
    with pytest.raises(StoreError, match=f"job {second.id}"):
        store.set_job_state(first.id, "queued")
    assert [job.id for job in store.jobs("judge_sft")] == [second.id, first.id] and len(store.jobs(limit=1)) == 1
    assert store.job(first.id).error == "no memory"


def test_sweep_ends_jobs_whose_process_is_gone(store: Store) -> None:
    ids = {}
    for kind, state, pid in (("gone", "running", 1), ("alive", "running", 2), ("stopping", "stopping", 1), ("waiting", "queued", None)):
        ids[kind] = store.create_job(kind, {}).id
        for step in ("running", "stopping") if state == "stopping" else (state,):
            store.set_job_state(ids[kind], step, pid=pid)
    assert store.sweep_jobs(lambda pid: pid == 2) == [ids["gone"], ids["stopping"]]
    assert {kind: store.job(i).state for kind, i in ids.items()} == {
        "gone": "failed", "alive": "running", "stopping": "stopped", "waiting": "queued"}
    assert store.job(ids["gone"]).error == "interrupted: can be resumed"


def test_unknown_and_ended_jobs_are_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="job 5 does not exist"):
        store.job(5)
    job = store.create_job("judge_sft", {})
    store.set_job_state(job.id, "stopped")
    with pytest.raises(StoreError, match="is stopped"):
        store.set_job_progress(job.id, JobProgress())
