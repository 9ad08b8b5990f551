"""The child process that serves a GGUF model: `python -m trio_core.engines.llama_child '<json of ChildConfig>'`.

It prints one line, `address <url>`, once the model is loaded; llama.cpp's log goes to stderr. It ends when the app
ends, however that happens.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from trio_core.engines.tether import die_with_parent, die_with_stdin

KEY_VARIABLE = "TRIOSCOPE_CHILD_KEY"
"""Holds the key that requests must show: other programs and web pages on this machine must not reach the server."""
ADDRESS = "address "


class ChildConfig(BaseModel):
    """What to serve. `adapters` are GGUF LoRA files; a request names them by place in this list."""

    model: Path
    parent: int
    alias: str
    adapters: tuple[Path, ...] = ()
    threads: int = 0
    slots: int = 2
    context_tokens: int = 16384
    cache_ram_mib: int = 1024
    port: int = 0


def server_parameters(config: ChildConfig) -> Any:
    """llama.cpp's parameters. Adapters start with scale 0: requests raise the one that they want."""
    import xllamacpp

    p = xllamacpp.CommonParams()
    p.model.path = str(config.model)
    p.model_alias = {config.alias}
    p.n_ctx, p.n_parallel = config.context_tokens, config.slots
    p.cpuparams.n_threads = config.threads or os.cpu_count() or 1
    p.cache_ram_mib = config.cache_ram_mib
    p.port = config.port
    p.use_jinja, p.endpoint_metrics, p.endpoint_slots, p.ui = True, True, True, False
    if key := os.environ.get(KEY_VARIABLE):
        p.api_keys = [key]
    p.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(path), 0.0) for path in config.adapters]
    return p


def main(text: str) -> None:
    """Serves until a signal or the parent's end. Exit status 1 where the server does not come up."""
    config = ChildConfig.model_validate_json(text)
    die_with_parent(config.parent)
    die_with_stdin()
    import xllamacpp

    try:
        server = xllamacpp.Server(server_parameters(config))
    except RuntimeError as error:
        sys.stderr.write(f" E llama.cpp: {error}\n")
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.write(f"{ADDRESS}{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
