"""The Judge page in HTML: labels, snapshots, imports, and what its other renderers (judge_*.py) share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from storage.imports import ImportReport
from storage.values import LabelCounts, Snapshot
from ui.render.base import esc, number, plural

SPLITS = {"train": "training", "held_out": "held out"}
REASONS = {
    "conflict": "people disagree", "unsure": "labelled can't tell", "skip": "skipped by everybody", "unlabelled": "no label of the chosen sources",
    "mixed": "votes are mixed: some sampled answers right, some wrong", "vote_conflict": "the votes of two answer models contradict each other",
    "correction": "corrections of the judge, not asked for", "agreement": "agreements with the judge, not asked for",
    "unjudged": "labels of items that no judge had seen, not asked for", "cap_human": "over the limit of human labels",
    "cap_votes": "over the limit of vote labels", "cap_gold": "over the limit of gold labels",
    "balance": "left out to balance the classes", "max_rows": "over the row limit",
}
KINDS_HUMAN = {"correction": ("correction", "corrections"), "agreement": ("agreement", "agreements"),
               "unjudged": ("no judge had seen it", "not judged before")}
"""Kind of a human label -> words for one and for many."""
SOURCES = {"human": "human labels", "votes": "vote labels", "gold": "gold evidence"}
LABELS = ("sufficient", "insufficient")
SHOWN_LINES = 100
"""Most lines of an import that are named."""


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
    """What a snapshot holds by side, source and kind, what it left out and why."""
    manifest = snapshot.manifest
    heads = ("", *(f"{side}{name}" for side in ("Training: ", "Held out: ") for name in (*LABELS, "all")))
    held = table(heads, _rows(snapshot), f"Snapshot {snapshot.id}: rows by source")
    dropped = {k: n for k, n in manifest.dropped.items() if n}
    lost = table(("Left out", "Items"), [(esc(REASONS.get(k, k)), number(n)) for k, n in sorted(dropped.items(), key=lambda x: -x[1])],
                 "Items left out") if dropped else '<p class="jd-soft">No item was left out.</p>'
    moved = (f'<p class="jd-soft">{plural(manifest.moved_from_train, "question")} moved to the held-out side that an earlier snapshot '
             "trained on: nothing else could be held out.</p>" if manifest.moved_from_train else "")
    return f"{held}{_votes(snapshot)}{lost}{moved}{_made_of(snapshot)}"


def _rows(snapshot: Snapshot) -> list[tuple[str, ...]]:
    """One line a source, lines for the kinds of human labels (counted for a side, not for a label), the sum, the questions."""
    manifest = snapshot.manifest
    rows: list[tuple[str, ...]] = []
    for source, words in SOURCES.items():
        cells = [cell for split in SPLITS for cell in _with_sum([_count(snapshot, split, label, source) for label in LABELS])]
        if any(cells):
            rows.append((words, *(number(n) for n in cells)))
        if source == "human":
            rows += [_side_row(f'<span class="jd-soft">of them {many}</span>', found) for kind, (_, many) in KINDS_HUMAN.items()
                     if any(found := [manifest.kinds.get(split, {}).get(kind, 0) for split in SPLITS])]
    sums = [n for split in SPLITS for n in _with_sum([_count(snapshot, split, label) for label in LABELS])]
    return [*rows, ("<b>All rows</b>", *(f"<b>{number(n)}</b>" for n in sums)),
            _side_row("Questions", [manifest.questions.get(split, 0) for split in SPLITS])]


def _side_row(name: str, of_sides: Sequence[int]) -> tuple[str, ...]:
    return (name, *(cell for n in of_sides for cell in ("", "", number(n))))


def _with_sum(counts: list[int]) -> list[int]:
    return [*counts, sum(counts)]


def _count(snapshot: Snapshot, split: str, label: str, source: str | None = None) -> int:
    found = snapshot.manifest.counts.get(split, {}).get(label, {})
    return sum(found.values()) if source is None else found.get(source, 0)


def _votes(snapshot: Snapshot) -> str:
    models = snapshot.manifest.vote_models
    named = ", ".join(f"{model} ({plural(n, 'row')})" for model, n in models.items())
    return f'<p class="jd-soft">Vote labels hold for the answer model that voted: {esc(named)}.</p>' if models else ""


def _made_of(snapshot: Snapshot) -> str:
    manifest, request = snapshot.manifest, snapshot.request
    mix = "".join((
        "".join(f" · at most {number(n)} {SOURCES[source]}" for source, n in sorted(request.caps.items())),
        "".join(f" · {SOURCES[source]} weigh {weight:g}" for source, weight in sorted(request.weights.items()) if weight != 1),
        " · classes balanced" if request.balance else "", " · the rarer class weighs more" if request.class_weights else "",
        f" · guidelines version {manifest.guideline}" if manifest.guideline else ""))
    return (f'<p class="jd-soft">Made {when(snapshot.created)} · held out {request.held_out_fraction:.0%} of new questions · seed '
            f"{request.seed} · sources {esc(', '.join(sorted(request.sources)))}{esc(mix)} · annotators "
            f"{esc(', '.join(manifest.annotators) or 'none')} · <span title=\"sha256 of the rows: equal sets have equal hashes\">hash "
            f"<code>{esc(manifest.content_hash[:16])}</code></span></p>")


def judge_words(kind: str, parent: str | None) -> str:
    """What kind of judge it is. Plain text."""
    return {"model": "base model as it is", "threshold": f"threshold on {parent}", "head": f"calibrated head on {parent}", "sft": "LoRA SFT"}.get(kind, kind)


def state_badge(state: str) -> str:
    """A job's or a judge's state as a badge."""
    return f'<span class="jd-state" data-state="{esc(state)}">{esc(state)}</span>'


def votes_html(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Vote labels by answer model; mixed ones train nothing. Empty without votes."""
    rows = [(esc(model), *(number(found.get(label, 0)) for label in (*LABELS, "mixed"))) for model, found in counts.items()]
    return table(("Answer model", "All right: sufficient", "All wrong: insufficient", "Mixed: no label"), rows, "Items by vote label") if rows else ""


def import_html(name: str, report: ImportReport) -> str:
    """What became of a file's lines: counts, then the lines that were not stored and why."""
    good = note(f"{name}: {plural(report.accepted, 'line')} stored, {plural(len(report.duplicates), 'duplicate')}, "
                f"{plural(len(report.refused), 'line')} refused.", "bad" if report.refused else "good")
    lines = [(state, line) for state, found in (("refused", report.refused), ("duplicate", report.duplicates)) for line in found]
    if not lines:
        return good
    rows = [(state, esc(line.file), number(line.line), esc(line.reason)) for state, line in lines[:SHOWN_LINES]]
    cut = f" (the first {SHOWN_LINES} of {len(lines)})" if len(lines) > SHOWN_LINES else ""
    return good + table(("Line was", "File", "Line", "Why"), rows, f"Lines that were not stored{cut}", words=4)
