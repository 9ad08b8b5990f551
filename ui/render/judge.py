"""The Judge page in HTML: counts, manifests, plans, jobs. Judge versions and their scores stand in judge_versions.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from storage.values import Job, LabelCounts, Snapshot
from training.values import JobView, TrainingPlan
from ui.render.base import esc, number, plural

SPLITS = {"train": "training", "held_out": "held out"}
REASONS = {"conflict": "people disagree", "unsure": "labelled can't tell", "skip": "skipped by everybody", "unlabelled": "no label",
           "balance": "left out to balance the classes", "max_rows": "over the row limit"}
STATES = {"queued": "waiting to start", "running": "running", "stopping": "stopping, saving a checkpoint", "stopped": "stopped",
          "failed": "failed", "done": "done"}
LABELS = ("sufficient", "insufficient")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str, words: int = 1) -> str:
    """A table whose first `words` columns are words and the others figures. Cells are HTML, heads and caption text."""
    def cell(n: int, content: str, kind: str) -> str:
        return f"<{kind}{' class=num' if n >= words else ''}{' scope=col' if kind == 'th' else ''}>{content}</{kind}>"

    head = "".join(cell(n, esc(text), "th") for n, text in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell(n, c, 'td') for n, c in enumerate(row))}</tr>" for row in rows)
    return (f'<div class="jd-scroll" tabindex="0" role="region" aria-label="{esc(caption)}"><table class="jd-table"><caption>{esc(caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")


def when(moment: datetime) -> str:
    """Day and time, put into the browser's time zone where a script runs."""
    return f'<time datetime="{moment.isoformat()}">{moment.astimezone():%d %b %H:%M}</time>'


def note(text: str, tone: str = "") -> str:
    """A line of what happened or what to do; `tone` is '', 'good' or 'bad'. Plain text in; empty text, no line."""
    return f'<p class="jd-note" data-tone="{esc(tone)}" role="status">{esc(text)}</p>' if text else ""


def progress(text: str, share: float) -> str:
    """What is going on, with a bar."""
    percent = 100 * min(1.0, max(0.0, share))
    return (f'<div class="jd-progress" role="status"><span class="jd-track" role="progressbar" aria-label="Progress" aria-valuemin="0" '
            f'aria-valuemax="100" aria-valuenow="{percent:.0f}"><i style="width:{percent:.1f}%"></i></span><span>{esc(text)}</span></div>')


def counts_html(counts: LabelCounts) -> str:
    """Items, labels and verdicts as figures, and what the next training set would hold."""
    figures = "".join((
        _figure("Items", counts.items, "judge inputs, each once"),
        _figure("Human labels", sum(counts.human.get(v, 0) for v in LABELS), _by_label(counts.human)),
        _figure("Gold labels", sum(counts.gold.values()), _by_label(counts.gold)),
        _figure("Conflicts", counts.human.get("conflict", 0), _undecided(counts.human)),
        _figure("Machine verdicts", sum(counts.machine.values()), _by_label(counts.machine, "unparsed")),
    ))
    return f'<div class="jd-figures">{figures}</div><p class="jd-next">{esc(next_set(counts))}</p>'


def _figure(name: str, value: int, about: str) -> str:
    return f'<div><span class="jd-lab">{esc(name)}</span><b>{number(value)}</b><span>{esc(about)}</span></div>'


def _by_label(counts: Mapping[str, int], *more: str) -> str:
    """'12 sufficient, 30 insufficient'."""
    return ", ".join(f"{number(counts.get(v, 0))} {v}" for v in (*LABELS, *more) if v in LABELS or counts.get(v))


def _undecided(human: Mapping[str, int]) -> str:
    return f"{number(human.get('unsure', 0))} can't tell, {number(human.get('skip', 0))} skipped"


def next_set(counts: LabelCounts) -> str:
    """What a training set made now would hold, in words."""
    human, gold = sum(counts.human.get(v, 0) for v in LABELS), sum(counts.gold.values())
    if not counts.items:
        return "No items yet. Make them from the demo questions, or run questions in Explore with TRIO or MAPS."
    if not human and not gold:
        return "No label yet, so there is nothing to train on. Label items on the Annotate page or make the demo items, whose gold evidence is known."
    held = sum(counts.human.get(v, 0) for v in ("conflict", "unsure", "skip"))
    parts = [plural(human, "human label")] if human else []
    parts += [f"{'up to ' if human else ''}{plural(gold, 'gold label')}{' of items that nobody has labelled' if human else ''}"] if gold else []
    out = f" Left out: {plural(held, 'item')} in conflict, unsure or skipped." if held else ""
    return f"A training set made now would hold {' and '.join(parts)}.{out}"


def snapshot_name(snapshot: Snapshot) -> str:
    """A snapshot in a list of choices. Plain text."""
    return f"#{snapshot.id} · {snapshot.created.astimezone():%d %b %H:%M} · {snapshot.rows('train')} training, {snapshot.rows('held_out')} held out"


def manifest_html(snapshot: Snapshot) -> str:
    """What a snapshot holds, what it left out and why."""
    manifest, request = snapshot.manifest, snapshot.request
    rows = [(words, *(number(_cell(snapshot, split, label)) for label in LABELS), _sources(snapshot, split), number(snapshot.rows(split)),
             number(manifest.questions.get(split, 0))) for split, words in SPLITS.items()]
    held = table(("Side", "Sufficient", "Insufficient", "By source", "Rows", "Questions"), rows, f"Snapshot {snapshot.id}")
    dropped = {k: n for k, n in manifest.dropped.items() if n}
    lost = table(("Left out", "Items"), [(esc(REASONS.get(k, k)), number(n)) for k, n in sorted(dropped.items(), key=lambda x: -x[1])],
                 "Items left out") if dropped else '<p class="jd-soft">No item was left out.</p>'
    moved = (f'<p class="jd-soft">{plural(manifest.moved_from_train, "question")} moved to the held-out side that an earlier snapshot '
             "trained on: nothing else could be held out.</p>" if manifest.moved_from_train else "")
    return (f"{held}{lost}{moved}<p class=\"jd-soft\">Made {when(snapshot.created)} · held out {request.held_out_fraction:.0%} of new questions · seed "
            f"{request.seed} · sources {esc(', '.join(sorted(request.sources)))}{' · balanced' if request.balance else ''} · annotators "
            f"{esc(', '.join(manifest.annotators) or 'none')} · <span title=\"sha256 of the rows: equal sets have equal hashes\">hash "
            f"<code>{esc(manifest.content_hash[:16])}</code></span></p>")


def _cell(snapshot: Snapshot, split: str, label: str) -> int:
    return sum(snapshot.manifest.counts.get(split, {}).get(label, {}).values())


def _sources(snapshot: Snapshot, split: str) -> str:
    by_source: dict[str, int] = {}
    for sources in snapshot.manifest.counts.get(split, {}).values():
        for source, n in sources.items():
            by_source[source] = by_source.get(source, 0) + n
    return esc(", ".join(f"{n} {source}" for source, n in sorted(by_source.items()))) or "–"


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


def job_html(view: JobView) -> str:
    """A job's state in one glance: words, bar, figures; an error with what to do."""
    job, at = view.job, view.job.progress
    share = at.step / at.steps if at.steps else 0.0
    ended = job.state in ("done", "failed", "stopped")
    left = f", {_left(at.seconds_left)} left" if at.seconds_left is not None and not ended else ""
    step = f"step {at.step} of {at.steps}{left}" if at.steps else "no step yet"
    line = " · ".join(part for part in (STATES[job.state], "" if ended else at.stage, step, _figures(at.figures)) if part)
    error = note(f"{job.error} Resume continues from the newest checkpoint." if view.can_resume and job.error else job.error, "bad")
    made = (f'<p class="jd-note" data-tone="good">This made {esc(view.judge)}. Its scores stand below, under Judges.</p>' if view.judge else "")
    return (f'<div class="jd-job" data-state="{esc(job.state)}"><div class="jd-head"><b>Job {job.id}</b>{state_badge(job.state)}'
            f'<span class="jd-soft">snapshot {job.snapshot_id or "unknown"} · started {when(job.started or job.created)}</span></div>'
            f"{progress(line, 1.0 if job.state == 'done' else share)}{error}{made}"
            f'{_folder(view.folder)}</div>')


def _folder(folder: str) -> str:
    return f'<p class="jd-soft">Config, log and checkpoints: <code>{esc(folder)}</code></p>' if folder else ""


def _figures(figures: Mapping[str, float]) -> str:
    return " · ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in figures.items())


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def state_badge(state: str) -> str:
    """A job's or a judge's state as a badge."""
    return f'<span class="jd-state" data-state="{esc(state)}">{esc(state)}</span>'


def jobs_html(jobs: Sequence[Job], shown: int | None) -> str:
    """Links to the last jobs."""
    if not jobs:
        return '<p class="jd-soft">No training has been started yet. Choose a snapshot, look at the plan, then start.</p>'
    links = "".join(f'<li><a href="judge?job={job.id}"{" aria-current=true" if job.id == shown else ""}>Job {job.id}</a> {state_badge(job.state)} '
                    f'<span class="jd-soft">{when(job.created)}</span></li>' for job in jobs)
    return f'<ul class="jd-jobs">{links}</ul>'


def log_html(view: JobView) -> str:
    """The end of the log, as it is."""
    return f'<pre class="jd-log" tabindex="0" aria-label="Log">{esc(view.log_tail) or "No line yet."}</pre>'

