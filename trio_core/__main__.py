"""`python -m trio_core …`: ask, evaluate, analyse, serve-search and more. Errors that a person can mend end with status 2."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from trio_core.cli import account, analyse, ask, evaluate, index, methods, prepare, serve_search, settings
from trio_core.errors import TrioscopeError

COMMANDS = {"ask": ask, "methods": methods, "settings": settings, "index": index, "prepare": prepare, "account": account,
            "evaluate": evaluate, "analyse": analyse, "serve-search": serve_search}


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 the run itself failed, 2 something the user must change, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m trio_core", description="Multi-round RAG from the command line.")
    commands = parser.add_subparsers(dest="command", required=True)
    for module in COMMANDS.values():
        module.add_parser(commands)
    args = parser.parse_args(argv)
    try:
        return COMMANDS[args.command].run(args)
    except TrioscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
