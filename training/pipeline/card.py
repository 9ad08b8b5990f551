"""The model card beside an adapter, written from the step's manifest: nothing in it that was not counted."""

from __future__ import annotations

import json
from pathlib import Path

from training.pipeline.context import Context
from training.pipeline.manifest import StepManifest

ROLES = {
    "answer": ("answer agent", "GRPO in two stages: EM, precision and a length term, then EM, F1 and a length term (equations 1-6)"),
    "query": ("query agent", "GRPO with the gain in the frozen answer agent's F1 (equation 7)"),
    "judge": ("judge", "SFT on pools that the trained answer agent's votes, and people, labelled (section 3.4)"),
}


def write_card(adapter: Path, step: str, made: StepManifest, context: Context) -> None:
    """Writes `README.md` into the adapter's folder."""
    role, how = ROLES[step]
    warning = ("**The base model was made on the spot to check the chain. This adapter is of no other use.**\n\n"
               if context.profile.base.model == "tiny" else "")
    base = "tiny (made on the spot)" if warning else made.base
    lines = [
        "---", "library_name: peft", *([] if warning else [f"base_model: {made.base}"]), "---", "",
        f"# {role.capitalize()} of TRIO, profile {context.profile.name}", "", f"{warning}LoRA adapter on {base}. {how}.", "",
        "## Data", "", *[f"- after step {name}: `{value}`" for name, value in made.inputs.items()], "",
        "## Settings", "", "```json", json.dumps(made.settings, indent=1), "```", "",
        "## What the training reported", "", "```json", json.dumps(made.report, indent=1, default=str), "```", "",
        "## Made with", "",
        f"{', '.join(f'{name} {version}' for name, version in made.versions.items())}, Python {made.python}, on {made.device}; "
        f"code `{made.code[:16]}`, base `{made.base_hash[:16]}`, seed {context.profile.seed}, {made.finished}.", "",
        "Its prompt is that of Trioscope's role file for this agent; with another prompt it is another agent.", "",
    ]
    (adapter / "README.md").write_text("\n".join(lines), encoding="utf-8")
