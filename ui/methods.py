"""Methods on the pages: cards to choose from, and inputs for their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import gradio as gr
from pydantic.fields import FieldInfo

from trio_core.errors import TrioscopeError
from trio_core.methods import METHODS
from trio_core.methods.base import MethodSettings, SearchSettings
from ui.context import UiContext
from ui.render.base import esc, plural


def method_cards(ctx: UiContext, boot: str, chosen: str | list[str]) -> gr.HTML:
    """Real radio buttons or check boxes with a text; the value is a name, or a list of names."""
    kind = "radio" if isinstance(chosen, str) else "checkbox"
    cards = "".join(_card(ctx, name, kind) for name in METHODS)
    return gr.HTML(
        value=chosen, html_template=f'<fieldset class="cards"><legend class="sr">Method</legend>{cards}</fieldset>', js_on_load=boot,
        apply_default_css=False, elem_classes=["ts-cards"],
    )


def _card(ctx: UiContext, name: str, kind: str) -> str:
    method = METHODS[name]
    return (
        f'<label class="card"><input type="{kind}" name="ts-method" value="{esc(name)}"><span><b>{esc(method.title)}</b>'
        f'<span class="about">{esc(method.about)}</span><span class="most">{esc(at_most(ctx, name))}</span></span></label>'
    )


def at_most(ctx: UiContext, name: str, overrides: Mapping[str, Any] | None = None) -> str:
    """How much a question can cost with these settings."""
    kind = METHODS[name]
    try:
        settings = kind.settings_type.model_validate(ctx.workbench.method_settings(name, dict(overrides or {})))
    except TrioscopeError as error:
        return str(error)
    calls, searches = kind(settings, None).max_calls()
    return f"at most {plural(calls, 'call')}, {plural(searches, 'retrieval')}"


def most_html(ctx: UiContext, name: str, overrides: Mapping[str, Any] | None = None) -> str:
    """`at_most` as a line of the settings; the page's script copies it to the method's card."""
    return f'<p class="most" data-method="{esc(name)}">{esc(at_most(ctx, name, overrides))}</p>'


def ordered(kind: type[MethodSettings]) -> list[tuple[str, FieldInfo]]:
    """The fields of a settings class, those that all searching methods share at the end."""
    shared = SearchSettings.model_fields
    return sorted(kind.model_fields.items(), key=lambda item: item[0] in shared)


def page_html(name: str) -> str:
    """What a method needs of an engine, and how it differs from its authors' code."""
    page = METHODS[name].page
    return f"<p><b>Needs:</b> {esc(page.needs)}</p><p><b>Differs from its authors:</b> {esc(page.differs)}</p>"


class SettingInputs:
    """Inputs for the settings of several methods, made from their settings classes; one group a method."""

    def __init__(self, ctx: UiContext, shown: Sequence[str]) -> None:
        self._names: list[tuple[str, str, Any]] = []
        self.inputs: list[gr.components.Component] = []
        self.groups: list[gr.Column] = []
        for method, kind in METHODS.items():
            values = ctx.workbench.method_settings(method)
            with gr.Column(visible=method in shown, elem_classes=["ts-settings"]) as group:
                nothing = "" if values else "<p>Nothing to set.</p>"
                gr.HTML(f"<h3>{esc(kind.title)}</h3>{page_html(method)}{nothing}", apply_default_css=False)
                with gr.Row():
                    own = [_input(name, field, values[name]) for name, field in ordered(kind.settings_type)]
                if own:
                    self._follow(ctx, method, own)
            self._names += [(method, name, values[name]) for name, _ in ordered(kind.settings_type)]
            self.inputs += own
            self.groups.append(group)

    def _follow(self, ctx: UiContext, method: str, own: list[gr.components.Component]) -> None:
        """The line of what a question may cost follows every change, here and on the method's card."""
        line = gr.HTML(most_html(ctx, method), apply_default_css=False)
        usual = ctx.workbench.method_settings(method)

        def most(*values: Any) -> str:
            given = zip(ordered(METHODS[method].settings_type), values, strict=True)
            return most_html(ctx, method, {name: _whole(v) for (name, _), v in given if v != usual[name]})

        changed = gr.on([i.change for i in own], most, own, line, show_progress="hidden", trigger_mode="always_last",
                        api_visibility="private", concurrency_limit=16)
        changed.then(None, [line], None, js="(html) => Trioscope.most(html)", show_progress="hidden", api_visibility="private")

    def show(self, chosen: object) -> list[dict[str, Any]]:
        """Which groups are seen."""
        names = chosen if isinstance(chosen, list) else [chosen]
        return [gr.update(visible=name in names) for name in METHODS]

    def overrides(self, method: str, values: Sequence[Any]) -> dict[str, Any]:
        """What differs from the profile for one method; `values` in the order of `inputs`."""
        given = {n: v for (m, n, _), v in zip(self._names, values, strict=True) if m == method}
        usual = {n: v for m, n, v in self._names if m == method}
        return {n: _whole(v) for n, v in given.items() if v != usual[n]}


def _whole(value: Any) -> Any:
    """Gradio gives 3.0 for a typed 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _input(name: str, field: FieldInfo, value: Any) -> gr.components.Component:
    title, help_ = name.replace("_", " "), field.description or ""
    if field.annotation is bool:
        return gr.Checkbox(value, label=title, info=help_, container=True, min_width=180)
    choices = [c for c in get_args(field.annotation) if isinstance(c, str)] if get_origin(field.annotation) is Literal else []
    if choices:
        return gr.Dropdown(choices, value=value, label=title, info=help_, min_width=180)
    if field.annotation in (int, float):
        return gr.Number(value, label=f"{title}{_bounds(field)}", info=help_, min_width=180)
    return gr.Textbox(str(value), label=title, info=help_, min_width=180)


def _bounds(field: FieldInfo) -> str:
    low = next((m.ge for m in field.metadata if getattr(m, "ge", None) is not None), None)
    high = next((m.le for m in field.metadata if getattr(m, "le", None) is not None), None)
    return f" ({low}–{high})" if low is not None and high is not None else ""
