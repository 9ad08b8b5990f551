"""P(sufficient) from log-probabilities, and what each kind of server is asked for."""

from __future__ import annotations

import math

import pytest

from tests.engines.conftest import Served, ask
from tests.engines.stub_server import alternative, verdict_says
from trio_core.engines.verdict import LABELS, LabelTokens, class_shares, label_prefixes, label_tokens, read_verdict
from trio_core.values import Completion

DONE = Completion(text="Sufficient Information")
IDS = LabelTokens(sufficient=frozenset({50, 36459}), insufficient=frozenset({40, 641, 15474}))


def p_of(*top: dict[str, object]) -> float | None:
    return read_verdict(DONE, [{**top[0], "top_logprobs": list(top)}], "free", LabelTokens()).p_sufficient


def test_the_probability_is_normalised_over_both_labels() -> None:
    # B4.10
    assert p_of(alternative("Suff", -0.1), alternative("Ins", -2.4)) == pytest.approx(0.909, abs=0.001)


def test_a_label_that_the_list_does_not_show_gives_no_number() -> None:
    # B4.10: never 0 or 1
    assert p_of(alternative("Suff", -0.1), alternative("The", -2.4)) is None


def test_variants_of_one_token_are_summed() -> None:
    # B4.11
    shares = class_shares([alternative(" Suff", -1.2), alternative("Suff", -1.0)], LabelTokens())
    assert shares["sufficient"] == pytest.approx(0.669, abs=0.001)


def test_two_ids_with_one_text_both_count_and_one_id_listed_twice_counts_once() -> None:
    entries = [alternative("S", -1.0, id=50), alternative("S", -1.2, id=36459), alternative("S", -1.0, id=50)]
    assert class_shares(entries, IDS)["sufficient"] == pytest.approx(math.exp(-1.0) + math.exp(-1.2))


def test_sufficient_inside_insufficient_is_not_mistaken() -> None:
    assert set(class_shares([alternative("Insufficient", -0.1)], LabelTokens())) == {"insufficient"}
    assert class_shares([alternative("ufficient", -0.1)], LabelTokens()) == {}


def test_masked_tokens_do_not_count() -> None:
    # vLLM shows forbidden tokens as -9999
    assert p_of(alternative("Suff", -0.1), alternative("Ins", -9999.0)) is None


def test_no_logprobs_give_no_number() -> None:
    # B4.13
    reading = read_verdict(DONE, [], "free", IDS)
    assert (reading.p_sufficient, reading.p_method, reading.mass) == (None, "none", None)


def test_the_mass_is_known_only_before_a_mask() -> None:
    entries = [{**alternative("S", -5.0), "top_logprobs": [alternative("S", -5.0), alternative("Ins", -4.0)]}]
    assert read_verdict(DONE, entries, "grammar", IDS).mass == pytest.approx(math.exp(-5) + math.exp(-4))
    assert read_verdict(DONE, entries, "choice", IDS).mass is None


def test_label_tokens_are_the_prefixes_of_one_token() -> None:
    one = {"S": [50], "Su": [36459], "I": [40], "In": [641], "Ins": [15474]}
    prefixes = [prefix for label in LABELS for prefix in label_prefixes(label)]
    assert label_tokens({p: one.get(p, [1, 2]) for p in prefixes}) == IDS


async def test_null_logprobs_of_a_server_are_no_crash(served: Served) -> None:
    # B4.13
    engine, _ = await served(verdict_says("Sufficient Information", None))
    reading = await engine.read_verdict(ask(role="judge"), "free")
    assert (reading.completion.text, reading.p_sufficient) == ("Sufficient Information", None)


@pytest.mark.parametrize(("kind", "field"), [("grammar", "grammar"), ("choice", "structured_outputs")])
async def test_constrained_verdicts_are_streamed_cold_and_without_thinking(served: Served, kind: str, field: str) -> None:
    # B4.09; guided_choice is gone from vLLM, where it would be ignored without a word
    engine, stub = await served(verdict_says("Sufficient Information", [alternative("S", -0.1), alternative("Ins", -2.4)]))
    reading = await engine.read_verdict(ask(role="judge", temperature=0.9, max_tokens=1), kind)  # type: ignore[arg-type]
    body = stub.bodies[0]
    assert body["chat_template_kwargs"] == {"enable_thinking": False} and field in body and "guided_choice" not in body
    assert (body["stream"], body["temperature"], body["top_logprobs"]) == (True, 0.0, 20)
    assert reading.p_sufficient == pytest.approx(0.909, abs=0.001)


async def test_a_label_outside_the_top_list_is_looked_up_with_one_forced_token(served: Served) -> None:
    first = verdict_says("Insufficient Information", [alternative("Hello", -0.1, id=7), alternative("Ins", -8.0, id=15474)])
    second = verdict_says("S", [alternative("S", -3.0, id=50), alternative("Ins", -0.1, id=15474)])
    engine, stub = await served(first, second)
    reading = await engine.read_verdict(ask(role="judge"), "grammar")
    assert reading.p_method == "forced-logprobs"
    assert reading.p_sufficient == pytest.approx(math.exp(-3) / (math.exp(-3) + math.exp(-0.1)))
    assert reading.mass == pytest.approx(math.exp(-8.0)), "the number says little, and the mass says so"
    assert [token for token, _ in stub.bodies[1]["logit_bias"]] == [40, 50, 641, 15474, 36459]
