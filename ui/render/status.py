"""The engine's state in one line of the header."""

from __future__ import annotations

from trio_core.settings import Settings
from trio_core.workbench import Status
from ui.render.base import esc, number, plural

KINDS = {"embedded": "embedded", "openai": "model server", "vllm": "vLLM", "scripted": "scripted engine, no real results"}


def status_html(status: Status, settings: Settings) -> str:
    """Dot, model, engine, judge, corpus and speed; while starting or after a failure the reason and what to do."""
    kind = KINDS.get(settings.engine.kind, settings.engine.kind)
    if status.state == "failed":
        text = f'<span class="fault">{esc(status.message)}</span> <span>Recorded runs stay readable; fix the setting and start the app again.</span>'
    elif status.state == "starting":
        text = f"{esc(kind)} engine · {esc(status.message)} · {int(status.seconds)} s"
    else:
        text = " · ".join(esc(part) for part in _parts(status, settings, kind))
    notes = "".join(f'<span class="notice">{esc(note)}</span>' for note in status.notices)
    return f'<span class="dot {esc(status.state)}" aria-hidden="true"></span><span>{text}</span>{notes}'


def _parts(status: Status, settings: Settings, kind: str) -> list[str]:
    found = status.capabilities
    parts = [*([found.model] if found and found.model != settings.engine.kind else []), kind, f"judge {status.judge}", *_corpus(status, settings)]
    if found and found.prompt_tokens_per_s:
        writes = f", writes {number(found.completion_tokens_per_s)}" if found.completion_tokens_per_s else ""
        parts.append(f"reads {number(found.prompt_tokens_per_s)} tokens/s{writes}")
    return parts


def _corpus(status: Status, settings: Settings) -> list[str]:
    name = settings.retriever.corpus
    name = "demo corpus" if name == "demo" else name.rsplit("/", 1)[-1]
    count = next((status.index[k] for k in ("passages", "count", "passage_count") if isinstance(status.index.get(k), int)), None)
    return [f"{name}, {plural(count, 'passage')}" if count is not None else name]
