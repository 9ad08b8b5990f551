"""How far people agree: alpha, kappa of each pair, everybody's progress, and the items that they disagree about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storage.agreement import VALUES, Agreement, PairAgreement
from storage.annotation_values import AnnotatorProgress, CalibrationItem, CalibrationScore
from storage.values import StoredLabel
from ui.render.base import esc, plural
from ui.render.item import WORDS, tag

SCALE = ((0.8, "strong"), (0.667, "enough for tentative conclusions"), (0.0, "weak"))
"""Krippendorff's own bounds for alpha; below 0 people disagree more than by chance."""


def agreement_html(figures: Agreement) -> str:
    """Alpha in words, then the pairs with their tables."""
    alpha = figures.alpha
    if alpha.value is None:
        figure = f'<p class="ag-none">No alpha: {esc(alpha.reason)}.</p>'
    else:
        words = next((word for bound, word in SCALE if alpha.value >= bound), "worse than chance")
        figure = (f'<p class="ag-figure"><b>{alpha.value:.2f}</b> Krippendorff\'s alpha: {words}<span>over {plural(alpha.units, "item")} '
                  f"with two labels or more, {plural(alpha.pairable, 'label')}</span></p>")
    rows = "".join(map(_pair, figures.pairs))
    table = (f'<div class="ag-scroll"><table><thead><tr><th>Pair<th class="num">shared items<th class="num">same label<th class="num">'
             f"kappa<th>where they differ</thead><tbody>{rows}</tbody></table></div>") if rows else ""
    return f"<h2>How far people agree</h2>{figure}{table}"


def _pair(pair: PairAgreement) -> str:
    kappa = f"{pair.kappa:.2f}" if pair.kappa is not None else "–"
    share = f"{pair.same} ({pair.same / pair.n:.0%})" if pair.n else "–"
    more = esc(pair.reason) if pair.kappa is None else _differ(pair)
    return (f'<tr><td>{esc(pair.a)} and {esc(pair.b)}<td class="num">{pair.n}<td class="num">{share}<td class="num">{kappa}'
            f'<td class="ag-soft">{more}</tr>')


def _differ(pair: PairAgreement) -> str:
    parts = [f"{n}× {WORDS[a]} / {WORDS[b]}" for a, row in pair.table.items() for b, n in row.items() if a != b and a in VALUES]
    return esc(", ".join(parts) or "nowhere")


def people_html(progress: Sequence[AnnotatorProgress], scores: Sequence[CalibrationScore]) -> str:
    """One row a person."""
    if not progress:
        return '<h2>People</h2><p class="ag-none">Nobody has labelled anything yet.</p>'
    known: Mapping[str, CalibrationScore] = {score.annotator: score for score in scores}
    rows = "".join(_person(person, known.get(person.annotator)) for person in progress)
    names = ("labelled", "can't tell", "skipped", "median", "as resolved", "known answers")
    heads = "".join(f'<th class="num">{name}' for name in names)
    return (f'<h2>People</h2><div class="ag-scroll"><table><thead><tr><th>Name{heads}</thead><tbody>{rows}</tbody></table></div>'
            '<p class="ag-soft">As resolved: share of the labels that equal the item\'s label by majority or decision, where somebody '
            "else decided too. Known answers: accuracy in the calibration round.</p>")


def _person(person: AnnotatorProgress, score: CalibrationScore | None) -> str:
    median = f"{person.median_ms / 1000:.1f} s" if person.median_ms is not None else "–"
    agreed = f"{person.agreement:.0%} of {person.compared}" if person.agreement is not None else "–"
    accuracy = f"{score.accuracy:.0%} of {score.answered}" if score and score.accuracy is not None else "–"
    cells = (person.labelled, person.unsure, person.skipped, median, agreed, accuracy)
    return f"<tr><td>{esc(person.annotator)}" + "".join(f'<td class="num">{cell}' for cell in cells) + "</tr>"


def conflicts_html(items: Sequence[tuple[int, str, Sequence[StoredLabel]]], total: int, hidden: int, admin: bool) -> str:
    """`items`: id, question, current labels; `hidden`: how many this person may not see yet."""
    rows = "".join(_conflict(item_id, question, labels, admin) for item_id, question, labels in items)
    rest = total - len(items) - hidden
    more = f'<p class="ag-soft">{len(items)} of {total} are shown; decide these and the next come.</p>' if rest > 0 else ""
    kept = (f'<p class="ag-soft">{plural(hidden, "more item")} you have not answered yet: they are shown after your own label.</p>'
            if hidden else "")
    empty = "" if rows or hidden else '<p class="ag-none">Nobody disagrees at the moment.</p>'
    return f"<h2>Disagreements</h2>{empty}{rows}{kept}{more}"


def _conflict(item_id: int, question: str, labels: Sequence[StoredLabel], admin: bool) -> str:
    sides = "".join(
        f'<div class="ag-side"><span><b>{esc(label.annotator)}</b> {tag(label.value)}</span>{_remark(label)}</div>' for label in labels)
    return (f'<article class="ag-conflict" data-item="{item_id}"><h3><a href="./agreement?item={item_id}">{esc(question)}</a></h3>'
            f'<div class="ag-sides">{sides}</div>{decide_html(item_id, "") if admin else ""}</article>')


def _remark(label: StoredLabel) -> str:
    reason = f'<p class="ag-soft">{esc(label.reason)}</p>' if label.reason else ""
    return reason + (f"<p>“{esc(label.note)}”</p>" if label.note else "")


def decide_html(item_id: int, held: str) -> str:
    """Buttons with a note; `held` = the decision that holds."""
    buttons = "".join(_button("decide", item_id, value, held) for value in VALUES)
    back = f'<button type="button" class="an-do" data-do="undecide" data-item="{item_id}">take back</button>' if held else ""
    return (f'<div class="an-acts ag-decide"><span>Decide:</span>{buttons}{back}'
            f'<input maxlength="2000" placeholder="note" aria-label="Note on the decision about item {item_id}"></div>')


def known_html(item_id: int, known: CalibrationItem | None) -> str:
    """An admin gives the item a known answer, for calibration rounds."""
    held = known.label if known else ""
    buttons = "".join(_button("known", item_id, value, held) for value in VALUES[:2])
    explained = esc(known.explanation) if known else ""
    back = f'<button type="button" class="an-do" data-do="unknown" data-item="{item_id}">remove</button>' if known else ""
    return (f'<div class="an-acts ag-decide"><span>Known answer, for calibration rounds:</span>{buttons}{back}<input maxlength="2000" '
            'placeholder="explanation, shown after the answer" aria-label="Explanation of the known answer" '
            f'value="{explained}"></div>')


def _button(act: str, item_id: int, value: str, held: str) -> str:
    pressed = str(value == held).lower()
    return (f'<button type="button" class="an-do" data-do="{act}" data-label="{value}" data-item="{item_id}" aria-pressed="{pressed}">'
            f"{WORDS[value]}</button>")


def calibration_html(items: Sequence[CalibrationItem]) -> str:
    """Admins only: the list holds the answers."""
    rows = "".join(f'<li>{tag(item.label)} <a href="./agreement?item={item.item_id}">{esc(item.question)}</a></li>' for item in items)
    where = "An admin gives an item a known answer on its page; it leaves the ordinary queue and is worked through by everybody."
    link = '<a href="./annotate?show=calibration">Work through the round</a>'
    return f'<h2>Calibration round</h2><p class="ag-soft">{where}</p>' + (f'<ul class="ag-known">{rows}</ul><p>{link}</p>' if rows else "")
