"""The parts of the Annotate page around the item: frame, progress, last answers, empty states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storage.annotation_values import CalibrationItem, CalibrationScore
from storage.values import GoldLabel, LabelCounts, MachineVerdict, StoredLabel
from ui.annotating import REASONS, QueueChoice
from ui.render.base import esc, plural
from ui.render.item import DECIDED, WORDS, clock, comparison, gold_words
from ui.render.session import Session

TABS = """<nav class="an-tabs" aria-label="Annotate"><a href="./annotate"{}>Label</a><a href="./agreement"{}>Agreement</a></nav>"""
"""The two pages of Annotate; fill in which one is open with `HERE`."""
HERE = ' aria-current="page"'

CHIPS = "".join(
    f'<button type="button" class="an-chip" data-reason="{words}" aria-pressed="false">{words} <kbd>{key}</kbd></button>'
    for key, words in REASONS.items())

FRAME = f"""
<div class="an" data-state="loading">
 <header class="an-top">{TABS.format(HERE, "")}<div class="an-progress" aria-live="off"></div>
  <details class="an-queue"><summary>queue: <span class="an-queue-words"></span></summary>
   <form class="an-filters" aria-label="Queue"></form></details>
  <button type="button" class="an-link" data-do="guidelines" aria-expanded="false">guidelines <kbd>G</kbd></button></header>
 <article class="an-item" aria-live="polite"><div class="an-skeleton"><i></i><i></i><i></i><i></i></div></article>
 <aside class="an-side">
  <section class="an-form" aria-label="Your label">
   <div class="an-dock"><div class="an-buttons">
    <button type="button" class="an-key an-sufficient" data-value="sufficient"><span><i aria-hidden="true">●</i>Sufficient</span><kbd>1</kbd></button>
    <button type="button" class="an-key an-insufficient" data-value="insufficient"><span><i aria-hidden="true">○</i>Insufficient</span><kbd>2</kbd></button>
    <button type="button" class="an-key an-small" data-value="unsure"><span>Can't tell</span><kbd>3</kbd></button>
    <button type="button" class="an-key an-small" data-value="skip"><span>Skip</span><kbd>0</kbd></button>
   </div><div class="an-message" role="status"></div></div>
   <div class="an-reasons" role="group" aria-label="Reasons, before you label">
    {CHIPS}
   </div>
   <textarea class="an-note" rows="2" aria-label="Note" placeholder="Note (N), stored with your label"></textarea>
   <div class="an-moves"><button type="button" class="an-link" data-do="back">back <kbd>B</kbd></button>
    <button type="button" class="an-link" data-do="undo">undo <kbd>U</kbd></button>
    <button type="button" class="an-link" data-do="reveal" aria-expanded="false">reveal <kbd>V</kbd></button>
    <button type="button" class="an-link an-on" data-do="next">to the queue <kbd>Q</kbd></button></div>
  </section>
  <section class="an-guide" aria-label="Guidelines" hidden><header><h2>Guidelines</h2>
   <button type="button" class="an-link" data-do="guidelines">close <kbd>G</kbd></button></header><div class="an-guide-body"></div></section>
  <section class="an-reveal" aria-label="What others say" hidden></section>
  <section class="an-last" aria-label="Your last answers"></section>
 </aside>
</div>
"""
"""Static: the script fills its parts, so that a note under way and the keys survive every update."""


@dataclass(frozen=True)
class Answer:
    """One of the annotator's last answers with what may be shown now that it is given."""

    label: StoredLabel
    verdicts: Sequence[MachineVerdict]
    gold: GoldLabel | None
    others: Sequence[StoredLabel] = ()
    known: CalibrationItem | None = None


def progress(counts: LabelCounts, queue: QueueChoice, score: CalibrationScore | None) -> str:
    """How far labelling has come: everybody's share of this queue as a bar, one's own figures in words."""
    if queue.show == "calibration":
        return _calibration(counts, score)
    labelled = sum(n for value, n in counts.human.items() if value != "skip")
    skipped = f" · {counts.skipped} skipped" if counts.skipped else ""
    left = f"{counts.pending} skipped left" if queue.show == "skipped" else f"{labelled} of {counts.items}"
    return f'{_track("Items labelled", labelled, counts.items)}<span class="an-figures">{left} · you {counts.done}{skipped}</span>'


def _calibration(counts: LabelCounts, score: CalibrationScore | None) -> str:
    answered, right = (score.answered, score.right) if score else (0, 0)
    accuracy = f" · {right} right, accuracy {score.accuracy:.0%}" if score and score.accuracy is not None else ""
    return (f'{_track("Known answers worked through", answered, counts.items)}'
            f'<span class="an-figures">calibration: {answered} of {counts.items}{accuracy}</span>')


def _track(what: str, n: int, of: int) -> str:
    return (f'<span class="an-track" role="progressbar" aria-label="{what}" aria-valuemin="0" aria-valuemax="{of}" '
            f'aria-valuenow="{n}"><i style="width:{100 * n / of if of else 0:.1f}%"></i></span>')


def last_answers(answers: Sequence[Answer], current: int | None, session: Session) -> str:
    """The strip of one's last answers; each can be opened again and undone."""
    if not answers:
        return '<h2>Your last answers</h2><p class="an-none">None yet. They can be opened again and undone from here.</p>'
    rows = "".join(_answer_row(a, a.label.item_id == current) for a in answers)
    return f'<h2>Your last answers <span>· U undoes the newest</span></h2><ul>{rows}</ul><p class="an-session">{esc(session.words())}</p>'


def _answer_row(answer: Answer, current: bool) -> str:
    label = answer.label
    return (f'<li{" class=an-current" if current else ""}><button type="button" class="an-again" data-open="{label.item_id}" '
            f'title="Open again: {esc(label.question)}">{esc(label.question)}</button>'
            f'<span>{outcome(answer)}</span><button type="button" class="an-undo" data-undo="{label.id}" '
            f'aria-label="Undo: {esc(WORDS[label.value])}, {esc(label.question)}">undo</button></li>')


def outcome(answer: Answer) -> str:
    """'21:04:11 ✓ Insufficient · judge disagreed (p 0.64) · gold agrees · ben disagreed'. A skip tells nothing: it stays blind."""
    label = answer.label
    said = [] if label.value == "skip" else [
        _known_words(label.value, answer.known), comparison(label.value, answer.verdicts), gold_words(label.value, answer.gold),
        *others_words(label.value, answer.others)]
    told = "".join(f" · <em{' class=an-off' if _is_off(words) else ''}>{esc(words)}</em>" for words in said if words)
    return f"{clock(label.created)} ✓ {esc(WORDS[label.value])}{told}"


def _is_off(words: str) -> bool:
    return "disagreed" in words or words.startswith("wrong")


def _known_words(value: str, known: CalibrationItem | None) -> str:
    if known is None:
        return ""
    return "right, as known" if value == known.label else f"wrong: known answer {WORDS[known.label]}"


def others_words(value: str, others: Sequence[StoredLabel]) -> list[str]:
    """Other people's labels against one's own; a crowd as two counts."""
    decided = [other for other in others if other.value in DECIDED]
    if value not in DECIDED or not decided:
        return [f"{other.annotator}: {WORDS[other.value]}" for other in others[:2]]
    if len(decided) <= 2:
        return [f"{other.annotator} {'agrees' if other.value == value else 'disagreed'}" for other in decided]
    same = sum(other.value == value for other in decided)
    return [f"{same} of {len(decided)} others agree"]


def no_items() -> str:
    """The store holds no item at all."""
    return ('<div class="an-empty"><h2>Nothing to label yet</h2><p>Items come from the judge\'s verdicts. Run a question in '
            '<a href="./">Explore</a> with TRIO or MAPS: every round becomes an item. Or start at once with the demo questions: '
            "their passages are searched, no model is needed, and gold evidence is known.</p>"
            '<button type="button" class="an-go" data-do="make">Make items from the demo questions</button></div>')


def all_done(counts: LabelCounts, queue: QueueChoice) -> str:
    """Nothing left for this annotator in this queue."""
    again = '<button type="button" class="an-go" data-do="next">Look again</button>'
    if queue.show == "skipped":
        return _empty("Nothing skipped is left", "<p>You have answered all that you had skipped.</p>", again)
    if queue.show == "calibration":
        words = ("<p>You have answered every item with a known answer. Your accuracy stands above; all annotators\' stands under "
                 '<a href="./agreement">Agreement</a>.</p>' if counts.items else
                 "<p>No item has a known answer yet. An admin gives one on an item\'s page (“history of this item”).</p>")
        return _empty("The calibration round is done" if counts.items else "There is no calibration round", words, again)
    if not counts.items:
        return _empty("No item fits these filters", "<p>Change them under “queue” above.</p>", again)
    held = (f"<p>{counts.pending} more are open in front of other annotators; each comes back to the queue five minutes after it was "
            "opened.</p>" if counts.pending else "")
    labelled = f"You have labelled {counts.done} and skipped {counts.skipped} of {plural(counts.items, 'item')}."
    skipped = "<p>What you skipped can be shown again: queue, “items I skipped”.</p>" if counts.skipped else ""
    more = ('<p>More items come from runs in <a href="./">Explore</a>. What is labelled trains a better judge on the '
            '<a href="judge">Judge</a> page.</p>')
    return _empty("The queue is empty", f"<p>{labelled}</p>{held}{skipped}{more}", again)


def _empty(title: str, body: str, button: str) -> str:
    return f'<div class="an-empty"><h2>{title}</h2>{body}{button}</div>'
