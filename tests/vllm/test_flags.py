"""That vLLM knows every flag that the compose file and the app give it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.vllm import environment
from trio_core.engine_settings import EngineSettings, VllmSettings
from trio_core.engines.vllm_command import serve_command

PYTHON, ABSENT = environment.find()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not PYTHON, reason=ABSENT)
def test_vllm_knows_the_flags_that_it_is_given() -> None:
    compose = yaml.safe_load((environment.ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    spread = VllmSettings(tensor_parallel_size=2, data_parallel_size=2, distributed_executor_backend="ray")
    given = [*compose["services"]["vllm"]["command"], *serve_command(EngineSettings(kind="vllm", model="m", vllm=spread))]
    flags = {word.partition("=")[0] for word in given if word.startswith("--")}
    done = subprocess.run([str(Path(PYTHON).absolute().parent / "vllm"), "serve", "--help=all"], capture_output=True, text=True, check=True)
    known = set(re.findall(r"--[a-z][a-z0-9-]+", done.stdout))
    assert len(flags) > 8 and not flags - known
