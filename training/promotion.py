"""Making a judge live: the gate or a reason, then the engine, then the store; and a check that the engine serves what was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from storage.store import Store
from storage.values import JudgeVersion
from training.gate_values import GateReport
from trio_core.errors import EngineError, TrainingError, TrioscopeError
from trio_core.values import ChatCall
from trio_core.workbench import Workbench

WARN_ABOVE = 0.15
"""Difference of P(sufficient) between server and transformers. Quantisation and caching explain up to .06 (MEASURED.md)."""


def gate_of(version: JudgeVersion) -> GateReport | None:
    """A judge's gate report; null where the gate was not run."""
    return GateReport.model_validate(version.gate) if version.gate else None


def obstacle(version: JudgeVersion, live: JudgeVersion) -> str:
    """Why a candidate needs a reason to go live; empty where the gate against the live judge was passed.

    A judge that was live before needs none: going back must be easy.
    """
    if version.state != "candidate":
        return ""
    report = gate_of(version)
    if report is None:
        return f"the gate was not run for {version.name}"
    if report.live != live.name:
        return f"{version.name} was compared with {report.live}, but {live.name} is live now"
    return "" if report.passed else report.words


def promote(store: Store, workbench: Workbench | None, data_dir: Path, name: str, by: str, reason: str, admin: bool = True) -> JudgeVersion:
    """Switches the engine, checks one verdict, then stores the promotion; if any of it fails, all stays as it was.

    Without a workbench only the store changes; an app picks the judge up at its next start. Raises TrainingError where the
    gate stands against it and no admin gives a reason.
    """
    version, previous = store.judge_version(name), store.live_judge()
    why_not = obstacle(version, previous)
    if why_not and not (admin and reason.strip()):
        raise TrainingError(f"{why_not}; run the gate first, or an admin makes {name} live with a reason")
    if workbench is None or version.name == previous.name:
        return store.promote(name, by, reason)
    if (status := workbench.status()).state != "ready":
        raise EngineError(f"the engine is {status.state} ({status.message}); a judge can be made live once it is ready")
    workbench.use_judge(version.adapter(data_dir))
    try:
        served = served_check(store, workbench, version)
        if served is not None and version.state == "candidate":
            store.set_judge_scores(name, {**version.scores, "served": served})
        return store.promote(name, by, reason)
    except TrioscopeError:
        workbench.use_judge(previous.adapter(data_dir))
        raise


def rollback(store: Store, workbench: Workbench | None, data_dir: Path, by: str, reason: str = "") -> JudgeVersion:
    """Makes the judge live that was live before. Raises TrainingError where none was."""
    history = store.promotions()
    if not history:
        raise TrainingError(f"{store.live_judge().name} has been live from the beginning; there is no judge to go back to")
    return promote(store, workbench, data_dir, history[0].previous, by, reason or f"rolled back from {history[0].judge}")


def served_check(store: Store, workbench: Workbench, version: JudgeVersion) -> dict[str, Any] | None:
    """P(sufficient) of one held-out item by the server against transformers; null where there is none to compare.

    The item whose P moved most in training is taken: an adapter that does not apply, or applies wrongly, shows there best.
    Thresholds and heads were measured through the server already.
    """
    items = version.scores.get("items") or [] if version.kind == "sft" else []
    known = max(items, key=lambda item: abs(item["p_after"] - item["p_before"]), default=None)
    stored = store.item(known["item_id"]) if known else None
    if known is None or stored is None:
        return None
    reading = workbench.call(workbench.engine.verdict(ChatCall(role="judge", messages=stored.item.messages, max_tokens=8)))
    if reading.p_sufficient is None:
        return {"item_id": stored.id, "p_transformers": known["p_after"], "p_server": None, "difference": None,
                "warning": "the server shows no log-probabilities, so the conversion was not checked"}
    difference = abs(reading.p_sufficient - known["p_after"])
    warning = "" if difference <= WARN_ABOVE else (
        f"the server's P(sufficient) {reading.p_sufficient:.2f} differs from the trained model's {known['p_after']:.2f} by more "
        f"than {WARN_ABOVE}; the adapter may have been converted wrongly")
    return {"item_id": stored.id, "p_transformers": known["p_after"], "p_before": known["p_before"],
            "p_server": reading.p_sufficient, "difference": difference, "p_method": reading.p_method, "warning": warning}
