"""A calibrated head: a logistic regression over cheap signals of a round, as plain numbers.

It is fitted by `training.head` and applied here with arithmetic alone. Stored as JSON, so loading one runs no code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from trio_core.values import Value

FEATURES: dict[str, str] = {
    "logit": "the judge's own log(p / (1 - p))",
    "agreement": "share of the most frequent of k sampled answers",
    "answer_logprob": "mean token log-probability of the sampled answers",
    "answer_in_pool": "1 where the most frequent answer stands in the pool",
    "top_score": "best passage score of the last query",
    "mean_score": "mean passage score over the pool",
    "new_passages": "passages of the last query that no earlier query found",
    "round": "queries in the pool (TRIO: the round)",
    "pool_tokens": "size of the pool in thousands of tokens (by characters)",
    "question_in_pool": "share of the question's content words that stand in the pool",
    "relations": "genitives and relative words of the question (of, 's, whose, that, …): about how many facts it chains",
    "comparison": "1 where the question compares (both, older, same, …)",
    "links": "passages' titles that stand in the text of another passage of the pool, at most 6 pairs",
    "named_titles": "titles of passages in the pool that the question or a sub-query names, at most 4",
    "chain": "1 where the pool holds a chain: titles of two passages in a question that compares, else a link from a passage near it",
}
SAMPLED = frozenset({"agreement", "answer_logprob", "answer_in_pool"})
"""Features that need sampled answers: calls at run time."""
VERSION = 1


class JudgeHead(Value):
    """P(sufficient) = sigmoid(intercept + sum of coefficient * (signal - mean) / scale).

    A signal that is not known counts as its mean, except the logit: without it there is no probability.
    """

    version: Literal[1] = VERSION
    features: tuple[str, ...] = Field(min_length=1)
    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    judge: str = ""
    """The judge version whose logit it reads."""
    samples: int = Field(default=0, ge=0, le=64)
    """Answers sampled for each verdict; 0 = none."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    rows: int = 0
    """Labels that it was fitted on."""

    @model_validator(mode="after")
    def _whole(self) -> JudgeHead:
        unknown = sorted(set(self.features) - set(FEATURES))
        if unknown:
            raise ValueError(f"unknown features {unknown}; known: {', '.join(FEATURES)}")
        if len({len(self.features), len(self.means), len(self.scales), len(self.coefficients)}) != 1:
            raise ValueError("features, means, scales and coefficients must be equally many")
        if not all(math.isfinite(x) for x in (*self.means, *self.scales, *self.coefficients, self.intercept)) or min(self.scales) <= 0:
            raise ValueError("all numbers must be finite and all scales above 0")
        if SAMPLED & set(self.features) and not self.samples:
            raise ValueError(f"features {sorted(SAMPLED & set(self.features))} need samples above 0")
        return self

    def p(self, signals: Mapping[str, float]) -> float | None:
        """P(sufficient), or None where the head reads the judge's logit and there is none."""
        if "logit" in self.features and "logit" not in signals:
            return None
        z = self.intercept
        for name, mean, scale, weight in zip(self.features, self.means, self.scales, self.coefficients, strict=True):
            z += weight * (signals.get(name, mean) - mean) / scale
        return 1 / (1 + math.exp(-z)) if z > -700 else 0.0
