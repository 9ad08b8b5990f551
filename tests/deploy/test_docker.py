"""The image and the compose file, as far as they can be checked without an engine that builds and runs them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from trio_core.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE, COMPOSE = ROOT / "docker/Dockerfile", ROOT / "docker/compose.yaml"
PINNED = re.compile(r"(?:[\w.-]+/)*[\w.-]+:v?\d+\.\d+[\w.-]*$")
KNOWN = {"FROM", "ARG", "ENV", "WORKDIR", "RUN", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}


def instructions() -> Iterator[tuple[str, str]]:
    """(instruction, rest) of the Dockerfile, continued lines joined."""
    text = "\n".join(line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.strip():
            yield tuple(line.split(" ", 1))  # type: ignore[misc]


def arguments(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file."""
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


def test_instructions_are_known_and_the_base_is_pinned() -> None:
    assert {name for name, _ in instructions()} <= KNOWN
    [base] = arguments("FROM")
    assert PINNED.match(base) and base.startswith("python:3.11")


def test_every_copied_file_is_tracked_and_reaches_the_builder() -> None:
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                             check=True).stdout.split()
    ignored = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    for rest in arguments("COPY"):
        for source in shlex.split(rest)[:-1]:
            assert source in tracked or any(name.startswith(source + "/") for name in tracked), source
            assert any(source == name or source.startswith(name + "/") for name in let_in), source
    assert "*" in ignored and not any(fnmatch("var", name) or fnmatch(".git", name) for name in let_in)


def test_the_image_holds_all_packages_that_the_app_imports() -> None:
    copied = {source for rest in arguments("COPY") for source in shlex.split(rest)[:-1]}
    assert {"app.py", "trio_core", "storage", "training", "ui"} <= copied


def test_the_app_runs_as_nobody_special_and_starts_without_a_shell() -> None:
    order = [name for name, _ in instructions()]
    [user], [command] = arguments("USER"), arguments("CMD")
    assert user not in ("root", "0") and f" {user} " in " ".join(arguments("RUN")) and order.index("USER") < order.index("CMD")
    assert yaml.safe_load(command) == ["python", "app.py"]


def test_torch_is_the_one_of_the_requirements() -> None:
    [torch] = re.findall(r"torch==[\d.]+", " ".join(arguments("RUN")))
    assert torch in (ROOT / "requirements.txt").read_text(encoding="utf-8").split()


def test_the_image_s_settings_are_settings() -> None:
    env = dict(pair.split("=", 1) for rest in arguments("ENV") for pair in shlex.split(rest))
    settings = load_settings(env=env)
    assert (settings.data_dir, settings.server.host) == (Path("/data"), "0.0.0.0")


def test_there_is_one_port(compose: dict[str, Any]) -> None:
    port = load_settings(env={}).server.port
    [exposed], [health] = arguments("EXPOSE"), arguments("HEALTHCHECK")
    [published] = compose["services"]["app"]["ports"]
    assert exposed == str(port) and f"http://127.0.0.1:{port}/" in health and published.rpartition(":")[2] == str(port)


def test_every_service_s_processes_are_looked_after(compose: dict[str, Any]) -> None:
    assert compose["services"]["app"]["init"] is True and "docker run --rm --init" in DOCKERFILE.read_text(encoding="utf-8")


def test_nothing_but_the_app_is_published_and_only_to_this_machine(compose: dict[str, Any]) -> None:
    published = {name: service.get("ports", []) for name, service in compose["services"].items()}
    assert published.pop("app") == ["127.0.0.1:7860:7860"]
    assert not any(published.values()) and not any(service.get("network_mode") for service in compose["services"].values())


def test_images_are_pinned_and_vllm_is_the_one_of_the_requirements(compose: dict[str, Any]) -> None:
    images = {name: service["image"] for name, service in compose["services"].items() if "image" in service}
    assert set(images) == {"vllm", "postgres"} and all(PINNED.match(image) for image in images.values())
    assert f"vllm=={images['vllm'].partition(':v')[2]}" in (ROOT / "requirements/vllm.txt").read_text(encoding="utf-8").split()


def test_files_volumes_and_networks_that_are_named_are_there(compose: dict[str, Any]) -> None:
    build = compose["services"]["app"]["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    assert context == ROOT and (context / build["dockerfile"]).is_file()
    for service in compose["services"].values():
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(compose["volumes"])
        assert set(service["networks"]) <= set(compose["networks"])
        assert set(service.get("depends_on", {})) <= set(compose["services"])


def test_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    text = COMPOSE.read_text(encoding="utf-8") + DOCKERFILE.read_text(encoding="utf-8")
    for line in text.splitlines():
        if "PASSWORD" in line and not line.lstrip().startswith("#"):
            assert "${TRIOSCOPE_DB_PASSWORD:?" in line
    assert not re.search(r"(?i)(api_key|token|secret)\w*\s*[:=]\s*\S", text)


def test_compose_s_settings_are_settings_that_fit_its_services(compose: dict[str, Any]) -> None:
    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}", lambda m: m[2] or "filled-in", text)

    env = {key: filled(value) for key, value in compose["services"]["app"]["environment"].items()}
    settings = load_settings(env=env)
    vllm = [filled(word) for word in compose["services"]["vllm"]["command"]]
    assert settings.profile == "vllm" and settings.engine.base_url == "http://vllm:8000/v1"
    assert compose["services"]["vllm"]["entrypoint"] == ["vllm", "serve"] and vllm[0] == settings.engine.model
    assert settings.store_url.endswith("@postgres:5432/trioscope")
    assert "--enable-lora" in vllm and compose["services"]["vllm"]["environment"]["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"
    assert {"--max-lora-rank=32", "--max-loras=4"} <= set(vllm)
