"""Plans and jobs of the Judge page in HTML: what would be trained, where a job is, what came of it, its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storage.values import Job
from training.values import JobView, TrainingPlan
from ui.render.base import esc, number, plural
from ui.render.judge import LABELS, SPLITS, note, progress, state_badge, table, when

STATES = {"queued": "waiting to start", "running": "running", "stopping": "stopping, keeping what is done", "stopped": "stopped",
          "failed": "failed", "done": "done"}
KINDS = {"sft": "LoRA SFT", "threshold": "threshold", "head": "calibrated head", "gate": "gate", "votes": "votes"}


def plan_html(plan: TrainingPlan) -> str:
    """What a training would do; its problems first."""
    problems = "".join(note(text, "bad") for text in plan.problems)
    rows = [(words, *(_used(plan, split, label) for label in LABELS)) for split, words in SPLITS.items()]
    used = table(("Rows used", "Sufficient", "Insufficient"), rows, "Rows that will be used, of those in the snapshot")
    dropped: dict[str, int] = {}
    for row in plan.dropped:
        dropped[row.reason] = dropped.get(row.reason, 0) + 1
    lost = "; ".join(f"{plural(n, 'row')} left out: {reason}" for reason, n in dropped.items())
    exact = "" if plan.tokens_exact else " (estimated)"
    facts = (f"{plural(plan.steps, 'step')} · {number(plan.mean_tokens)} tokens a row on average{exact} · about {_minutes(plan.estimated_minutes)} · "
             f"base model {plan.base_model or 'unknown'}")
    notes = "".join(f'<p class="jd-soft">{esc(text)}</p>' for text in (*([lost + "."] if lost else []), *plan.notes))
    return f'{problems}{used}<p class="jd-facts">{esc(facts)}</p>{notes}'


def _used(plan: TrainingPlan, split: str, label: str) -> str:
    used, of = plan.rows.get(split, {}).get(label, 0), plan.in_snapshot.get(split, {}).get(label, 0)
    return number(used) if used == of else f'{number(used)} <span class="jd-soft">of {number(of)}</span>'


def _minutes(minutes: float) -> str:
    return "a minute" if minutes < 1.5 else f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"


def title(job: Job) -> str:
    """What a job does. Plain text."""
    config = job.config
    if job.kind == "gate":
        return f"gate of {config.get('candidate', 'a judge')} against {config.get('live', 'the live judge')}"
    if job.kind in ("threshold", "head"):
        return f"{KINDS[job.kind]} on {config.get('judge', 'a judge')}"
    return f"votes, {config.get('samples', 'some')} samples an item" if job.kind == "votes" else KINDS.get(job.kind, job.kind)


def job_html(view: JobView) -> str:
    """A job's state in one glance: words, bar, figures; an error with what to do; what came of it."""
    job, at = view.job, view.job.progress
    share = at.step / at.steps if at.steps else 0.0
    ended = job.state in ("done", "failed", "stopped")
    left = f", {_left(at.seconds_left)} left" if at.seconds_left is not None and not ended else ""
    unit = "step " if job.kind == "sft" else ""
    step = f"{unit}{at.step} of {at.steps}{left}" if at.steps else "nothing done yet"
    line = " · ".join(part for part in (STATES[job.state], "" if ended else at.stage, step, _figures(at.figures)) if part)
    kept = "the newest checkpoint" if job.kind == "sft" else "where it was; what the model has said is not asked again"
    error = note(f"{job.error.rstrip('.')}. Resume continues from {kept}." if view.can_resume and job.error else job.error, "bad")
    of = f"snapshot {job.snapshot_id} · " if job.snapshot_id else ""
    return (f'<div class="jd-job" data-state="{esc(job.state)}"><div class="jd-head"><b>Job {job.id}</b> {esc(title(job))} {state_badge(job.state)}'
            f'<span class="jd-soft">{of}started {when(job.started or job.created)}</span></div>'
            f"{progress(line, 1.0 if job.state == 'done' else share)}{error}{outcome_html(view)}{_folder(view.folder)}</div>")


def outcome_html(view: JobView) -> str:
    """What came of a job, by its kind; empty before its end."""
    job, report = view.job, view.report
    if job.state != "done":
        return ""
    if job.kind == "votes":
        found = ", ".join(f"{number(int(report.get(key, 0)))} {words}" for key, words in
                          (("sufficient", "sufficient"), ("insufficient", "insufficient"), ("mixed", "mixed (no label)")))
        unknown = int(report.get("no_gold_answer", 0))
        without = f" {plural(unknown, 'item')} left out: the answer to the question is not known." if unknown else ""
        return note(f"{report.get('answer_model', 'The answer model')} voted on {plural(int(report.get('items', 0)), 'item')}: {found}.{without}", "good")
    if job.kind == "gate":
        passed = bool(report.get("passed"))
        said = "passes" if passed else "does not pass"
        return note(f"{job.config.get('candidate', 'The candidate')} {said} the gate. The report stands below, under Judges.", "good" if passed else "bad")
    if not view.judge:
        return ""
    notes = "".join(note(str(text)) for text in report.get("notes", []))
    return note(f"This made {view.judge}{_change(view)}. Put it through the gate below, under Judges.", "good") + notes


def _change(view: JobView) -> str:
    """Ranking and calibration before and after on the held-out rows, where they were measured."""
    found = view.evaluation
    if found is None or found.after.auroc is None or found.before.auroc is None:
        return ""
    return (f": on {plural(found.after.rows, 'held-out item')} AUROC {found.before.auroc:.2f} → {found.after.auroc:.2f}, "
            f"ECE {found.before.ece:.2f} → {found.after.ece:.2f}")


def _folder(folder: str) -> str:
    return f'<p class="jd-soft">Config, log and checkpoints: <code>{esc(folder)}</code></p>' if folder else ""


def _figures(figures: Mapping[str, float]) -> str:
    return " · ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in figures.items())


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def jobs_html(jobs: Sequence[Job], shown: int | None) -> str:
    """Links to the last jobs."""
    if not jobs:
        return '<p class="jd-soft">No job has been started yet. Choose a snapshot above, then a rung of the ladder.</p>'
    links = "".join(f'<li><a href="judge?job={job.id}"{" aria-current=true" if job.id == shown else ""}>Job {job.id}</a> {esc(title(job))} '
                    f'{state_badge(job.state)} '
                    f'<span class="jd-soft">{when(job.created)}</span></li>' for job in jobs)
    return f'<ul class="jd-jobs">{links}</ul>'


def command_html(view: JobView) -> str:
    """The exact command of the job's process."""
    return f'<pre class="jd-log" tabindex="0" aria-label="Exact command">{esc(view.command)}</pre>'


def log_html(view: JobView) -> str:
    """The end of the log, as it is."""
    return f'<pre class="jd-log" tabindex="0" aria-label="Log">{esc(view.log_tail) or "No line yet."}</pre>'

