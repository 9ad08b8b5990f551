"""The parts of the Annotate page around the item: frame, progress, last answers, empty states, guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storage.values import GoldLabel, LabelCounts, MachineVerdict, QueueOrder, StoredLabel
from ui.render.base import esc
from ui.render.item import WORDS, clock, comparison, gold_words

ORDERS: dict[QueueOrder, str] = {"uncertain": "most uncertain first", "oldest": "oldest first", "disagreement": "disagreements first"}

GUIDELINES = """
<h2>When is it sufficient?</h2>
<p><b>Sufficient</b>: the passages state every link of the chain from the question to its answer. For “Where was the director
of Casablanca born?” they must say who directed Casablanca <em>and</em> where that person was born. You could give the answer by
pointing at sentences.</p>
<p><b>Insufficient</b>: at least one link is missing, even if you know it yourself, and even if the answer's words
happen to stand somewhere. A passage about a namesake, another year or another place states nothing.</p>
<p><b>Can't tell</b>: the question can be read in two ways that give two labels, or passages contradict each other on the
point that decides. Not for long or tiring items: skip those.</p>
<p><b>Skip</b>: you don't want to judge this one. It is shown to others, and to you no more unless you open it again.</p>
<ul><li>Simple steps of reasoning are allowed: comparing two dates, counting a list that is complete, “capital of” both ways.</li>
<li>For a comparison both sides must be stated.</li>
<li>Irrelevant passages do no harm. Only what is missing counts.</li>
<li>The judge's verdict stays hidden until you have answered, so that your label is your own.</li></ul>
"""

FRAME = f"""
<div class="an" data-state="loading">
 <header class="an-top"><div class="an-progress" aria-live="off"></div>
  <label class="an-order">queue <select aria-label="Order of the queue">
   {"".join(f'<option value="{key}">{words}</option>' for key, words in ORDERS.items())}</select></label>
  <button type="button" class="an-link" data-do="guidelines">guidelines <kbd>G</kbd></button></header>
 <article class="an-item" aria-live="polite"><div class="an-skeleton"><i></i><i></i><i></i><i></i></div></article>
 <aside class="an-side">
  <section class="an-form" aria-label="Your label">
   <div class="an-dock"><div class="an-buttons">
    <button type="button" class="an-key an-sufficient" data-value="sufficient"><span><i aria-hidden="true">●</i>Sufficient</span><kbd>1</kbd></button>
    <button type="button" class="an-key an-insufficient" data-value="insufficient"><span><i aria-hidden="true">○</i>Insufficient</span><kbd>2</kbd></button>
    <button type="button" class="an-key an-small" data-value="unsure"><span>Can't tell</span><kbd>3</kbd></button>
    <button type="button" class="an-key an-small" data-value="skip"><span>Skip</span><kbd>0</kbd></button>
   </div><div class="an-message" role="status"></div></div>
   <textarea class="an-note" rows="2" aria-label="Note" placeholder="Note (N), stored with your label"></textarea>
   <div class="an-moves"><button type="button" class="an-link" data-do="back">back <kbd>B</kbd></button>
    <button type="button" class="an-link" data-do="undo">undo <kbd>U</kbd></button>
    <button type="button" class="an-link" data-do="reveal">reveal <kbd>V</kbd></button>
    <button type="button" class="an-link an-queue" data-do="next">to the queue <kbd>Q</kbd></button></div>
  </section>
  <section class="an-reveal" hidden></section>
  <section class="an-last" aria-label="Your last answers"></section>
 </aside>
 <dialog class="an-guide" aria-label="Guidelines">{GUIDELINES}
  <form method="dialog"><button class="an-link">close <kbd>Esc</kbd></button></form></dialog>
</div>
"""
"""Static: the script fills its parts, so that a note under way and the keys survive every update."""


@dataclass(frozen=True)
class Answer:
    """One of the annotator's last answers with what may be shown now that it is given."""

    label: StoredLabel
    verdicts: Sequence[MachineVerdict]
    gold: GoldLabel | None


def progress(counts: LabelCounts, median_s: float | None) -> str:
    """How far labelling has come: everybody's share as a bar, one's own figures in words."""
    labelled = sum(n for value, n in counts.human.items() if value != "skip")
    share = 100 * labelled / counts.items if counts.items else 0
    skipped = f" · {counts.skipped} skipped" if counts.skipped else ""
    pace = f" · {median_s:.1f} s median" if median_s is not None else ""
    return (f'<span class="an-track" role="progressbar" aria-label="Items labelled" aria-valuemin="0" '
            f'aria-valuemax="{counts.items}" aria-valuenow="{labelled}"><i style="width:{share:.1f}%"></i></span>'
            f'<span class="an-figures">{labelled} of {counts.items} · you {counts.done}{skipped}{pace}</span>')


def last_answers(answers: Sequence[Answer], current: int | None) -> str:
    """The strip of one's last answers; each can be opened again."""
    if not answers:
        return '<h2>Your last answers</h2><p class="an-none">None yet. They can be opened again and undone from here.</p>'
    rows = "".join(_answer_row(a, a.label.item_id == current) for a in answers)
    return f'<h2>Your last answers <span>· U undoes the newest</span></h2><ul>{rows}</ul>'


def _answer_row(answer: Answer, current: bool) -> str:
    label = answer.label
    return (f'<li{" class=an-current" if current else ""}><button type="button" data-open="{label.item_id}" '
            f'title="Open again: {esc(label.question)}">{esc(label.question)}</button>'
            f'<span>{outcome(answer)}</span></li>')


def outcome(answer: Answer) -> str:
    """'21:04:11 ✓ Insufficient · judge disagreed (p 0.64) · gold agrees'."""
    label = answer.label
    compared = comparison(label.value, answer.verdicts)
    off = " class=an-off" if compared.startswith("judge disagreed") else ""
    gold = gold_words(label.value, answer.gold)
    gold = f" · {esc(gold)}" if gold else ""
    return f"{clock(label.created)} ✓ {esc(WORDS[label.value])} · <em{off}>{esc(compared)}</em>{gold}"


def no_items() -> str:
    """The store holds no item at all."""
    return ('<div class="an-empty"><h2>Nothing to label yet</h2><p>Items come from the judge\'s verdicts. Run a question in '
            '<a href="./">Explore</a> with TRIO or MAPS: every round becomes an item. Or start at once with the demo questions: '
            "their passages are searched, no model is needed, and gold evidence is known.</p>"
            '<button type="button" class="an-go" data-do="make">Make items from the demo questions</button></div>')


def all_done(counts: LabelCounts) -> str:
    """Nothing left for this annotator."""
    others = counts.pending
    held = (f"<p>{others} more are open in front of other annotators; each comes back to the queue five minutes after it was "
            "opened.</p>" if others else "")
    return (f'<div class="an-empty"><h2>The queue is empty</h2><p>You have labelled {counts.done} and skipped {counts.skipped} of '
            f'{counts.items} items.</p>{held}<p>More items come from runs in <a href="./">Explore</a>. What is labelled '
            'trains a better judge on the <a href="judge">Judge</a> page.</p>'
            '<button type="button" class="an-go" data-do="next">Look again</button></div>')
