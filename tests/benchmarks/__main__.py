"""`python -m tests.benchmarks NAME`: measures, prints, and writes `tests/benchmarks/results/NAME.md` and `.json`."""

from __future__ import annotations

import argparse
import importlib

NAMES = (
    "answer_quality", "latency", "overhead", "judge_loop", "first_event", "startup", "learning_curve", "judge_downstream", "grpo_learning",
    "index_million", "evaluate_throughput", "annotators", "ray_overhead",
)


def main() -> None:
    """Dispatches to one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    commands = parser.add_subparsers(dest="name", required=True)
    for name in NAMES:
        module = importlib.import_module(f"tests.benchmarks.{name}")
        sub = commands.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        module.add_arguments(sub)
        sub.set_defaults(main=module.main)
    args = parser.parse_args()
    args.main(args)


if __name__ == "__main__":
    main()
