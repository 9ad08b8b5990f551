"""`serve-search`: an index of ours behind HTTP, in Search-R1's protocol."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import socket
import sys
from typing import Any

from trio_core.cli.common import add_settings_flags, settings_from_args
from trio_core.errors import InputError
from trio_core.retrieval.build import build_retriever
from trio_core.retrieval.checks import MAX_K
from trio_core.settings import Settings

OPTIONS = ("corpus", "kind", "encoder", "index_dir")
AT_ONCE = 64
"""Connections at once; more are answered 503."""


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("serve-search", help="serve an index over HTTP, as Search-R1's /retrieve")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=int, default=8000, help="default 8000; 0 = any free one")
    parser.add_argument("--corpus", help="demo, a .jsonl or .tsv file (.gz), or a folder")
    parser.add_argument("--kind", choices=("dense", "bm25", "hybrid"))
    parser.add_argument("--encoder", help="name or path of a sentence-transformers model")
    parser.add_argument("--index", dest="index_dir", metavar="FOLDER", help="the index folder")
    parser.add_argument("--topk", type=int, default=3, help="passages where a request names no number (default 3)")
    parser.add_argument("--max-topk", type=int, default=100, help="passages that a request may ask for (default 100)")
    add_settings_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Serves until Ctrl-C."""
    if not 1 <= args.topk <= args.max_topk <= MAX_K:
        raise InputError(f"--topk {args.topk} and --max-topk {args.max_topk}: 1 <= topk <= max-topk <= {MAX_K} must hold")
    settings = _settings(args)
    listener = _listen(args.host, args.port)
    try:
        asyncio.run(_serve(settings, args, listener))
    finally:
        listener.close()
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    settings = settings_from_args(args)
    given = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    retriever = type(settings.retriever).model_validate({**settings.retriever.model_dump(), **given})
    return settings.model_copy(update={"retriever": retriever})


def _listen(host: str, port: int) -> socket.socket:
    """Before the index is loaded, so that a port in use is told at once. Raises InputError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, OverflowError) as error:
        raise InputError(f"cannot listen on {host}:{port} ({error}); choose another --port or --host") from error
    if not ipaddress.ip_address(address[0]).is_loopback:
        print(f"warning: {host} can be reached from other machines, and whoever reaches the port may search", file=sys.stderr)
    return listener


async def _serve(settings: Settings, args: argparse.Namespace, listener: socket.socket) -> None:
    import uvicorn

    from trio_core.retrieval.server import Limits, search_app

    retriever = await asyncio.to_thread(build_retriever, settings)
    try:
        app = search_app(retriever, Limits(topk=args.topk, max_topk=args.max_topk))
        config = uvicorn.Config(app, log_level="warning", limit_concurrency=AT_ONCE, proxy_headers=False, server_header=False)
        host, port = listener.getsockname()[:2]
        print(f"serving {retriever.identity().get('corpus', 'passages')} on http://{host}:{port}/retrieve", flush=True)
        await uvicorn.Server(config).serve(sockets=[listener])
    finally:
        await retriever.close()
