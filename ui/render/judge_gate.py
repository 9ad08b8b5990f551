"""A gate's report in HTML: the conditions in words, figures of both judges, reliability, whole runs, flipped items."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from training.gate_values import LESS_IS_BETTER, METRICS, Difference, Downstream, DownstreamSide, Flip, GateReport
from ui.render.base import esc, number, plural
from ui.render.item import tag
from ui.render.judge import note, table
from ui.render.judge_plot import reliability_html

CHECKS = {"enough": "Enough labels", "balanced_accuracy": "Not lower", "auroc": "Ranking", "ece": "Calibration", "better": "Better in something",
          "downstream": "Whole runs"}
RUN_FIGURES: dict[str, tuple[str, bool]] = {"em": ("Exact match", True), "f1": ("F1", True), "rounds": ("Rounds", False), "calls": ("Calls", False)}
"""Figure of whole runs -> its name, and whether more is better."""
SHOWN_FLIPS = 50


def gate_html(report: GateReport) -> str:
    """The whole report, its result first."""
    result = "passes" if report.passed else "does not pass"
    head = note(f"{report.candidate} {result} the gate against {report.live}.", "good" if report.passed else "bad")
    checks = "".join(_check(CHECKS.get(check.name, check.name), check.passed, check.words) for check in report.checks)
    runs = downstream_html(report.downstream, report.rule.confidence) if report.downstream else (
        '<p class="jd-soft">Whole runs were not made: answers, rounds and calls with this judge are unknown.</p>')
    return (f'{head}<ul class="jd-checks">{checks}</ul><div class="jd-pair"><div>{_figures(report)}<p class="jd-soft">{esc(_items(report))}</p></div>'
            f"{reliability_html((report.live_side, report.candidate_side))}</div>{runs}{flips_html(report)}")


def _check(name: str, passed: bool, words: str) -> str:
    mark, said = ("✓", "passed") if passed else ("✗", "failed")
    return (f'<li data-passed="{str(passed).lower()}"><b><span aria-hidden="true">{mark}</span> {esc(name)} <span class="jd-said">{said}</span></b> '
            f"{esc(words)}</li>")


def _items(report: GateReport) -> str:
    by_label = ", ".join(f"{sum(n.values())} {label} ({', '.join(f'{k} {s}' for s, k in sorted(n.items()))})"
                         for label, n in sorted(report.counts.items(), reverse=True))
    left = f" {plural(report.left_out, 'item')} left out: one of the judges gave no probability." if report.left_out else ""
    where = f" of snapshot {report.snapshot_id}" if report.snapshot_id else ""
    return (f"{plural(report.rows, 'held-out item')}{where}: {by_label}. Intervals: {report.rule.confidence:.0%}, paired bootstrap over questions, "
            f"{number(report.rule.resamples)} resamples. Verdicts by each judge's own threshold ({report.live_side.threshold:.2f} and "
            f"{report.candidate_side.threshold:.2f}).{left}")


def _figures(report: GateReport) -> str:
    rows = []
    for metric, name in METRICS.items():
        found, more = report.differences.get(metric), metric not in LESS_IS_BETTER
        rows.append((esc(name) + ("" if more else ' <span class="jd-soft">(less is better)</span>'), _value(report.live_side.figures.get(metric)),
                     _value(report.candidate_side.figures.get(metric)), *_difference(found, more)))
    return table(("Figure", report.live, report.candidate, "Difference", "Interval", "Better in"), rows, "Both judges on the same held-out items")


def _value(value: float | None) -> str:
    return '<span class="jd-soft" title="one label is absent">undefined</span>' if value is None else f"{value:.3f}"


def _difference(found: Difference | None, more: bool) -> tuple[str, str, str]:
    """Difference with a mark where its whole interval is on one side of 0, the interval, the share of resamples."""
    if found is None or found.value is None or found.low is None or found.high is None:
        return "–", "–", "–"
    sign = 1 if more else -1
    kind = "up" if min(found.low * sign, found.high * sign) > 0 else "down" if max(found.low * sign, found.high * sign) < 0 else "same"
    word = {"up": "better beyond noise", "down": "worse beyond noise", "same": "within noise"}[kind]
    better = "–" if found.better is None else f"{found.better:.0%}"
    return (f'<span class="jd-change" data-kind="{kind}" title="{word}"><b>{found.value:+.3f}</b><span class="sr"> {word}</span></span>',
            f'<span class="jd-nowrap">{found.low:+.3f} to {found.high:+.3f}</span>', better)


def downstream_html(runs: Downstream, confidence: float = 0.95) -> str:
    """Whole runs with either judge, and links to each pair."""
    rows = [(name, _of(runs.live, figure), _of(runs.candidate, figure), *_difference(runs.differences.get(figure), more))
            for figure, (name, more) in RUN_FIGURES.items()]
    rows.append(("Seconds", f"{runs.live.seconds:.1f}", f"{runs.candidate.seconds:.1f}", "–", "–", "–"))
    failed = f" {plural(runs.failed, 'question')} left out: a run failed." if runs.failed else ""
    heads = ("Mean over the runs", runs.live.judge, runs.candidate.judge, "Difference", "Interval", "Better in")
    shown = table(heads, rows, f"{plural(runs.questions, 'question')}, each run with both judges ({runs.method}); intervals {confidence:.0%}")
    return shown + (f'<p class="jd-soft">{esc(failed.strip())}</p>' if failed else "") + _pairs(runs.runs)


def _of(side: DownstreamSide, figure: str) -> str:
    return f"{getattr(side, figure):.3f}" if figure in ("em", "f1") else f"{getattr(side, figure):.2f}"


def _pairs(runs: Mapping[str, Mapping[str, str]]) -> str:
    links = "".join(f'<li><a href="compare?runs={quote(",".join(pair.values()))}">{esc(question)}</a></li>' for question, pair in runs.items())
    return f'<details class="jd-more"><summary>Open the runs side by side</summary><ul class="jd-jobs">{links}</ul></details>' if links else ""


def flips_html(report: GateReport) -> str:
    """The items on which the judges differ, each openable; the surest changes first."""
    flips = report.flips
    mended = sum(flip.mended for flip in flips)
    words = f"{plural(len(flips), 'verdict')} flipped: {mended} mended, {len(flips) - mended} broken."
    if not flips:
        return '<p class="jd-facts">No verdict flipped.</p>'
    cut = f" The {SHOWN_FLIPS} largest changes are shown." if len(flips) > SHOWN_FLIPS else ""
    rows = [_flip(flip) for flip in flips[:SHOWN_FLIPS]]
    heads = ("Item", "Label", "By", report.live, report.candidate, "Now", "P before", "P now")
    return f'<p class="jd-facts">{esc(words + cut)}</p><div class="jd-flips">{table(heads, rows, "Flipped items; each opens in Annotate", words=6)}</div>'


def _flip(flip: Flip) -> tuple[str, ...]:
    now = ('<span class="jd-change" data-kind="up"><b>mended</b></span>' if flip.mended
           else '<span class="jd-change" data-kind="down"><b>broken</b></span>')
    question = flip.question or f"item {flip.item_id}"
    return (f'<a href="annotate?item={flip.item_id}&amp;seen=1">{esc(question)}</a>', tag(flip.label), esc(flip.source), tag(flip.live),
            tag(flip.candidate), now, f"{flip.p_live:.2f}", f"{flip.p_candidate:.2f}")
