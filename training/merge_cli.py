"""`python -m training merge`: a checkpoint with an adapter merged in, compared with base and adapter."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.merge import merge
from trio_core.errors import TrioscopeError


def main(argv: list[str]) -> int:
    """Merges one adapter; status 1 and a line for what cannot be done."""
    from training.base_model import pick_device

    parser = argparse.ArgumentParser(prog="python -m training merge", description=__doc__)
    parser.add_argument("--base", required=True, metavar="MODEL", help="folder or hub name of the adapter's base model")
    parser.add_argument("--adapter", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="new folder of the merged checkpoint")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    args = parser.parse_args(argv)
    try:
        made = merge(args.base, args.adapter, args.out, pick_device(args.device))
    except TrioscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{made.out}: {made.dtype}; logits differ from base and adapter by {made.difference:.2g} standard deviations, the adapter's own "
          f"effect is {made.effect:.2g}; {made.same_token:.1%} of the next tokens are the same")
    return 0
