"""Which of the offered choices an answer names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trio_core.metrics import cover_token_seq, normalize

_ALONE = re.compile(r"\(?([A-Z])\)?[.):]?")
_LEADING = re.compile(r"(?:\(([A-Z])\)|([A-Z])[.):])(?:\s|$)")
_NAMED = re.compile(r"(?i:answer|choice|option)\s*(?:is|:)?\s*\(?([A-Z])\)?(?![\w'])")
_BRACKETED = re.compile(r"\(([A-Z])\)")


def chosen(answer: str, choices: Sequence[str]) -> int | None:
    """Index of the choice that the answer names by letter or by its text; None where it names none, or several.

    Letters count alone ("B", "(B)"), in front ("B. …"), after "answer is", or as the only one in brackets.
    """
    text = answer.strip().strip("*").strip()
    valid = {chr(ord("A") + n): n for n in range(len(choices))}
    for pattern in (_ALONE.fullmatch, _LEADING.match):
        if (match := pattern(text)) and (found := next(g for g in match.groups() if g)) in valid:
            return valid[found]
    wanted = normalize(text)
    if same := [n for n, choice in enumerate(choices) if wanted and normalize(choice) == wanted]:
        return same[0]
    if named := [m for m in _NAMED.findall(text) if m in valid]:
        return valid[named[-1]]
    if len(bracketed := {m for m in _BRACKETED.findall(text) if m in valid}) == 1:
        return valid[bracketed.pop()]
    return _by_text(text, choices)


def _by_text(text: str, choices: Sequence[str]) -> int | None:
    inside = [n for n, choice in enumerate(choices) if normalize(choice) and cover_token_seq(text, choice)]
    # Of choices inside one another ("acid", "acid rain") the longest is meant.
    longest = [n for n in inside if not any(m != n and cover_token_seq(choices[m], choices[n]) for m in inside)]
    return longest[0] if len(longest) == 1 else None


def choice_accuracy(answer: str, choices: Sequence[str], answers: Sequence[str]) -> float:
    """1.0 where the answer names a choice that is right."""
    found = chosen(answer, choices)
    right = {normalize(a) for a in answers}
    return float(found is not None and (choices[found] in answers or (normalize(choices[found]) or None) in right))
