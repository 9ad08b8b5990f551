"""What all commands share: the settings flags."""

from __future__ import annotations

import argparse
from pathlib import Path

from trio_core.settings import Settings, load_settings, profile_names


def add_settings_flags(parser: argparse.ArgumentParser) -> None:
    """Adds --profile, --settings and --set."""
    group = parser.add_argument_group("settings")
    group.add_argument("--profile", metavar="NAME", help=f"profile to start from: {', '.join(profile_names())}")
    group.add_argument("--settings", metavar="FILE", type=Path, help="YAML file that overrides the profile")
    group.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
        help="a single setting, e.g. --set retriever.corpus=demo; may be repeated",
    )


def settings_from_args(args: argparse.Namespace) -> Settings:
    """Settings of profile, file, environment and flags. Raises SettingsError."""
    return load_settings(profile=args.profile, file=args.settings, flags=args.overrides)
