"""`settings`: the effective settings, as YAML, after profile, file, environment and flags."""

from __future__ import annotations

import argparse
import json
from typing import Any

import yaml

from trio_core.cli.common import add_settings_flags, settings_from_args


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("settings", help="show the effective settings")
    add_settings_flags(parser)
    parser.add_argument("--json", action="store_true", help="JSON instead of YAML")


def run(args: argparse.Namespace) -> int:
    """Prints them; keys are never among them (they stay in the environment)."""
    data = settings_from_args(args).model_dump(mode="json")
    print(json.dumps(data, indent=2) if args.json else yaml.safe_dump(data, sort_keys=False, allow_unicode=True), end="\n")
    return 0
