"""Correcting a verdict where it stands: three buttons, a note, what is stored, and a fork that shows what would come of it."""

from __future__ import annotations

from collections.abc import Sequence

from storage.values import StoredLabel
from ui.render.base import esc, plural

VALUES = {"sufficient": "Sufficient", "insufficient": "Insufficient", "unsure": "Unsure", "skip": "Skipped"}


def fix_html(run_id: str, number: int, labels: Sequence[StoredLabel], who: str | None) -> str:
    """The form, and the labels on this item: the reader's own, and those of others once the reader has given one."""
    mine = [stored for stored in labels if stored.annotator == who]
    others = [stored for stored in labels if stored.annotator != who]
    answered = any(stored.value != "skip" for stored in mine)
    told = "".join(_saved(run_id, number, stored, True) for stored in mine)
    told += "".join(_saved(run_id, number, stored, False) for stored in others) if answered else _hidden(len(others))
    buttons = "".join(
        f'<button type="button" class="btn" data-do="fix" data-run="{esc(run_id)}" data-round="{number}" data-value="{v}">{esc(w)}</button>'
        for v, w in list(VALUES.items())[:3]
    )
    return (
        f'{told}<details class="fix" data-k="fix"><summary class="btn">{"Change…" if mine else "Correct…"}</summary>'
        '<div class="fixform"><span class="hid">Do the chunks so far hold enough to answer correctly?</span>'
        f'<span class="row">{buttons}</span><input type="text" maxlength="2000" placeholder="note (optional)" aria-label="Note">'
        f'<span class="row"><span class="hid">Fork the run here:</span>{_fork(run_id, number, "sufficient", "stop here, answer")}'
        f'{_fork(run_id, number, "insufficient", "go on")}</span></div></details>'
    )


def _fork(run_id: str, number: int, verdict: str, words: str) -> str:
    return (f'<button type="button" class="btn" data-do="fork" data-run="{esc(run_id)}" data-round="{number}" data-value="{verdict}">'
            f"{words}</button>")


def _hidden(n: int) -> str:
    who = plural(n, "other person has", "other people have")
    return f'<span class="saved" data-k="n">{who} labelled this; shown after your own label</span>' if n else ""


def _saved(run_id: str, number: int, stored: StoredLabel, own: bool) -> str:
    name = "" if own else f"{stored.annotator}: "
    note = f" · “{stored.note}”" if stored.note else ""
    at = stored.created.isoformat()
    undo = (f' · <button type="button" class="link" data-do="undo" data-run="{esc(run_id)}" data-round="{number}">undo</button>' if own else "")
    return (
        f'<span class="saved" data-k="l{stored.id}"><b class="{stored.value[0]}">{esc(name + VALUES.get(stored.value, stored.value))}</b>{esc(note)} · '
        f'saved <time datetime="{esc(at)}">{esc(stored.created.strftime("%H:%M:%S"))}</time>{undo}</span>'
    )
