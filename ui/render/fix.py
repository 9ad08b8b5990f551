"""Correcting a verdict where it stands: three buttons, a note, and what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from storage.values import StoredLabel
from ui.render.base import esc

VALUES = {"sufficient": "Sufficient", "insufficient": "Insufficient", "unsure": "Unsure", "skip": "Skipped"}


def fix_html(run_id: str, number: int, labels: Sequence[StoredLabel], local: str) -> str:
    """The form, and every person's label on this item; `local` is the name that needs no mention."""
    told = "".join(_saved(run_id, number, stored, local) for stored in labels)
    buttons = "".join(
        f'<button type="button" class="btn" data-do="fix" data-run="{esc(run_id)}" data-round="{number}" data-value="{v}">{esc(w)}</button>'
        for v, w in list(VALUES.items())[:3]
    )
    return (
        f'{told}<details class="fix" data-k="fix"><summary class="btn">{"Change…" if labels else "Correct…"}</summary>'
        '<div class="fixform"><span class="hid">Do the chunks so far hold enough to answer correctly?</span>'
        f'<span class="row">{buttons}</span><input type="text" maxlength="2000" placeholder="note (optional)" aria-label="Note"></div></details>'
    )


def _saved(run_id: str, number: int, stored: StoredLabel, local: str) -> str:
    name = "" if stored.annotator == local else f"{stored.annotator}: "
    note = f" · “{stored.note}”" if stored.note else ""
    at = stored.created.isoformat()
    return (
        f'<span class="saved" data-k="l{stored.id}"><b class="{stored.value[0]}">{esc(name + VALUES.get(stored.value, stored.value))}</b>{esc(note)} · '
        f'saved <time datetime="{esc(at)}">{esc(stored.created.strftime("%H:%M:%S"))}</time> · <button type="button" class="link" data-do="undo" '
        f'data-run="{esc(run_id)}" data-round="{number}">undo</button></span>'
    )
