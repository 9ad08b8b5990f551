"""`account`: add, list and remove the people who may log in."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import Any, get_args

from trio_core.accounts import Account, Role, check_name, hash_password, load_accounts, save_accounts
from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.errors import InputError
from trio_core.settings import Settings


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("account", help="add, list or remove accounts of the web app")
    acts = parser.add_subparsers(dest="act", required=True)
    add = acts.add_parser("add", help="add a person, or change role and password; asks for the password")
    add.add_argument("name")
    add.add_argument("--role", choices=get_args(Role), default="annotator")
    add.add_argument("--no-password", action="store_true", help="a proxy says who it is (server.proxy_header)")
    remove = acts.add_parser("remove", help="remove a person; labels stay under the name")
    remove.add_argument("name")
    for act in (add, remove, acts.add_parser("list", help="names and roles")):
        act.add_argument("--file", type=Path, dest="accounts_file", help="default: server.accounts, else accounts.yaml in the data folder")
        add_settings_flags(act)


def run(args: argparse.Namespace) -> int:
    """Writes the file with mode 600; says how to switch accounts on where they are off."""
    settings = settings_from_args(args)
    path = args.accounts_file or settings.server.accounts or settings.data_dir / "accounts.yaml"
    accounts = load_accounts(path) if path.exists() else {}
    if args.act == "list":
        for name, account in sorted(accounts.items()):
            print(f"{account.role:9}  {name}{'' if account.password else '  (no password)'}")
        return 0
    if args.act == "remove":
        if args.name not in accounts:
            raise InputError(f"{args.name!r} has no account in {path}; there are {', '.join(sorted(accounts)) or 'none'}")
        del accounts[args.name]
    else:
        accounts[check_name(args.name)] = Account(role=args.role, password="" if args.no_password else hash_password(_password()))
    save_accounts(path, accounts)
    print(f"{'added' if args.act == 'add' else 'removed'} {args.name} in {path}")
    print(_hint(settings, path), end="")
    return 0


def _password() -> str:
    """Typed twice, or one line of stdin when that is no terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != first:
        raise InputError("the two passwords differ; nothing was stored")
    return first


def _hint(settings: Settings, path: Path) -> str:
    if settings.server.accounts == path:
        return ""
    return f"the app asks for these accounts when it is started with --set server.accounts={path}\n"
