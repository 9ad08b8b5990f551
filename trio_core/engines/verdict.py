"""One of two verdicts, and its probability from the log-probabilities of the first token.

Classes are told apart by token ids where the server shows them, else by bytes: two tokens may decode to one text, and
`Sufficient` stands inside `Insufficient`. A class that the top list does not show has an unknown share, so the
probability is then null, never 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from trio_core.values import LABEL_TEXT, Completion, Value, VerdictReading

TOP = 20
"""Most alternatives that vLLM and llama.cpp give for a token."""
LABELS = [LABEL_TEXT["sufficient"], LABEL_TEXT["insufficient"]]
GRAMMAR = "root ::= " + " | ".join(f'"{label}"' for label in LABELS)
FORBIDDEN = -1000.0
"""Log-probabilities below this mark tokens that a mask forbids (vLLM shows -9999)."""
FORCE = 60.0
"""Logit bias that lifts the labels' first tokens above all others and keeps their ratios."""

Constraint = Literal["grammar", "choice", "free", "none"]


class LabelTokens(Value):
    """Ids of the tokens that begin a label, by class. Empty = unknown (classes are then told by bytes)."""

    sufficient: frozenset[int] = frozenset()
    insufficient: frozenset[int] = frozenset()

    def class_of(self, token: int) -> str | None:
        """The class that a token id begins."""
        return "sufficient" if token in self.sufficient else "insufficient" if token in self.insufficient else None

    @property
    def known(self) -> bool:
        """True where both classes have ids."""
        return bool(self.sufficient and self.insufficient)


def label_prefixes(label: str) -> list[str]:
    """Every beginning of a label, each a candidate for a single token."""
    return [label[:end] for end in range(1, len(label) + 1)]


def label_tokens(ids_of: Mapping[str, list[int] | None]) -> LabelTokens:
    """Keeps the prefixes that are one token. `ids_of` maps each prefix to its token ids."""
    found = {
        name: frozenset(ids[0] for prefix in label_prefixes(text) if (ids := ids_of.get(prefix)) and len(ids) == 1)
        for name, text in LABEL_TEXT.items()
    }
    return LabelTokens(**found)


def constraint_body(kind: Constraint) -> dict[str, Any]:
    """What a request needs besides messages for a verdict: log-probabilities, and the constraint by server kind."""
    body: dict[str, Any] = {"logprobs": True, "top_logprobs": TOP}
    if kind == "free":
        return body
    if kind == "none":
        return {}
    # A constraint from the first token on does not agree with thinking (vllm#18255): switch thinking off.
    extra: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
    if kind == "grammar":
        extra["grammar"] = GRAMMAR
    if kind == "choice":
        extra["structured_outputs"] = {"choice": LABELS}
    return {**body, "extra_body": extra}


def forced_body(tokens: LabelTokens) -> dict[str, Any]:
    """llama.cpp: the first token is forced into the labels' tokens, with exact shares of both classes."""
    ids = sorted(tokens.sufficient | tokens.insufficient)
    return {"logprobs": True, "top_logprobs": TOP, "extra_body": {
        "logit_bias": [[token, FORCE] for token in ids], "samplers": ["temperature"], "post_sampling_probs": True,
        "chat_template_kwargs": {"enable_thinking": False}}}


def class_shares(entries: Iterable[Any], tokens: LabelTokens) -> dict[str, float]:
    """Probability by class over one position's alternatives; a token that is listed twice counts once."""
    shares: dict[str, float] = {}
    seen: set[Any] = set()
    for entry in entries:
        key = _identity(entry)
        probability = _probability(entry)
        name = _class(entry, tokens)
        if name is None or probability is None or key in seen:
            continue
        seen.add(key)
        shares[name] = shares.get(name, 0.0) + probability
    return shares


def first_position(logprobs: list[Any]) -> list[Any]:
    """The first token's alternatives together with the token itself; empty where the server sent none."""
    if not logprobs:
        return []
    first = logprobs[0]
    return [*(_field(first, "top_logprobs") or _field(first, "top_probs") or []), first]


def read_verdict(completion: Completion, logprobs: list[Any], kind: Constraint, tokens: LabelTokens) -> VerdictReading:
    """The verdict's probability. The mass is known only where log-probabilities are from before the constraint."""
    shares = class_shares(first_position(logprobs), tokens)
    both = len(shares) == 2
    total = sum(shares.values())
    mass = min(1.0, total) if shares and kind in ("grammar", "free") else None
    return VerdictReading(completion=completion, p_sufficient=shares["sufficient"] / total if both else None,
                          p_method=f"{kind}-logprobs" if both else "none", mass=mass)


def read_forced(logprobs: list[Any], tokens: LabelTokens) -> float | None:
    """P(sufficient) of a forced first token."""
    shares = class_shares(first_position(logprobs), tokens)
    return shares["sufficient"] / sum(shares.values()) if len(shares) == 2 else None


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


def _identity(entry: Any) -> Any:
    token, raw = _field(entry, "id"), _field(entry, "bytes")
    return token if token is not None else tuple(raw) if raw else _field(entry, "token")


def _probability(entry: Any) -> float | None:
    direct, log = _field(entry, "prob"), _field(entry, "logprob")
    if direct is not None:
        return float(direct) if direct > 0 else None
    return math.exp(log) if log is not None and log > FORBIDDEN else None


def _class(entry: Any, tokens: LabelTokens) -> str | None:
    token, raw = _field(entry, "id"), _field(entry, "bytes")
    if token is not None and tokens.known and (name := tokens.class_of(token)):
        return name
    text = bytes(raw).decode(errors="replace") if raw else _field(entry, "token") or ""
    start = text.lstrip()
    return next((name for name, label in LABEL_TEXT.items() if start and label.startswith(start)), None)
