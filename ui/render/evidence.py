"""Sampled answers as bars: which, how often, right or wrong; and what that means by TRIO's rule."""

from __future__ import annotations

from trio_core.evidence import AnswerCount, EvidenceReport
from ui.render.base import esc, plural, seconds
from ui.render.item import tag


def evidence_html(report: EvidenceReport, done: bool, error: str, token: str) -> str:
    """`token` names the sampling for its buttons."""
    rows = "".join(_answer(answer, report.n) for answer in report.answers)
    if error:
        state = f'<p class="an-bad">Sampling failed: {esc(error)}</p>'
    elif not done:
        state = (f'<p class="an-rule">{report.n} of {plural(report.asked, "answer")} · {esc(report.model or "waiting for the model")} '
                 f'<button type="button" class="an-do" data-do="cancel" data-token="{esc(token)}">cancel</button></p>')
    else:
        state = _verdict(report, token)
    return f'<ul class="an-answers">{rows}</ul>{state}' if rows else state


def _answer(answer: AnswerCount, n: int) -> str:
    right = "" if answer.right is None else '<span class="an-right">right</span>' if answer.right else '<span class="an-wrong">wrong</span>'
    text = esc(answer.answer) if answer.answer else "<i>no answer could be read</i>"
    return (f'<li><span class="an-share" aria-hidden="true"><i style="width:{100 * answer.n / n:.0f}%"></i></span>'
            f'<b>{answer.n}×</b><span class="an-text-answer">{text}</span>{right}</li>')


def _verdict(report: EvidenceReport, token: str) -> str:
    cost = f'{esc(report.model)} · {seconds(report.seconds)}'
    if report.n < report.asked:
        return f'<p class="an-rule">Stopped after {report.n} of {plural(report.asked, "answer")} · {cost}</p>'
    if report.right is None:
        return f'<p class="an-rule">No gold answer is known, so none is right or wrong. {cost}</p>'
    rule = f"{tag(report.vote)} by votes" if report.vote else f"{tag('mixed')} by votes: no label"
    keep = f'<button type="button" class="an-do" data-do="keep" data-token="{esc(token)}">keep as vote label</button>'
    return f'<p class="an-rule">{report.right} of {report.n} right: {rule}. {keep}</p><p class="an-rule">{cost}</p>'
