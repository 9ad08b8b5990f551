"""The guidelines beside the item: the version that holds, who changed it, earlier ones, and the editor of admins."""

from __future__ import annotations

from collections.abc import Sequence

from storage.annotation_values import Guideline
from ui.render.base import esc
from ui.render.markdown import markdown_html

DEFAULT = """
## When is it sufficient?

**Sufficient**: the passages state every link of the chain from the question to its answer. For “Where was the director of
Casablanca born?” they must say who directed Casablanca *and* where that person was born. You could give the answer by pointing
at sentences.

**Insufficient**: at least one link is missing, even if you know it yourself, and even if the answer's words happen to stand
somewhere. A passage about a namesake, another year or another place states nothing.

**Can't tell**: the question can be read in two ways that give two labels, or passages contradict each other on the point
that decides. Not for long or tiring items: skip those.

**Skip**: you don't want to judge this one. It goes to others, and comes back to you only when you ask for skipped items.

- Simple steps of reasoning are allowed: comparing two dates, counting a list that is complete, “capital of” both ways.
- For a comparison both sides must be stated.
- Irrelevant passages do no harm. Only what is missing counts.
- The judge's verdict, votes and other people's labels stay hidden until you have answered, so that your label is your own.
""".strip()
"""Version 0, until an admin writes another one."""


def guidelines_html(versions: Sequence[Guideline], admin: bool) -> str:
    """`versions` newest first, as the store gives them."""
    now = versions[0] if versions else None
    text = now.text if now else DEFAULT
    number = now.version if now else 0
    about = f"version {number} · {esc(now.by)}, {_date(now)}" if now else "version 0, as Trioscope ships it"
    earlier = "".join(
        f"<details><summary>version {g.version} · {esc(g.by)}, {_date(g)}</summary>{markdown_html(g.text)}</details>" for g in versions[1:])
    older = f'<div class="an-earlier"><h3>Earlier versions</h3>{earlier}</div>' if earlier else ""
    editor = _editor(text, number) if admin else ""
    return f'<p class="an-rule">{about}</p><div class="an-text">{markdown_html(text)}</div>{editor}{older}'


def _editor(text: str, number: int) -> str:
    return (f'<details class="an-edit"><summary class="an-link">edit…</summary><label>Markdown: # heading, - list, **bold**, *italic*'
            f'<textarea data-base="{number}" rows="14" maxlength="100000">{esc(text)}</textarea></label>'
            '<button type="button" class="an-small-go" data-do="guideline">Save as a new version</button></details>')


def _date(guideline: Guideline) -> str:
    return f'<time datetime="{guideline.created.isoformat()}">{guideline.created:%Y-%m-%d}</time>'
