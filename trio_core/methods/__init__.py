"""All methods by name. A new method is one file here, one prompt file, and one line in `METHODS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trio_core.errors import InputError
from trio_core.methods.base import Method, SearchSettings, Tools, check_settings
from trio_core.methods.drag import Drag
from trio_core.methods.ircot import Ircot
from trio_core.methods.iter_retgen import IterRetgen
from trio_core.methods.ma_rag import MaRag
from trio_core.methods.maps import Maps
from trio_core.methods.naive import Naive
from trio_core.methods.no_retrieval import NoRetrieval
from trio_core.methods.parallel_search import ParallelSearch
from trio_core.methods.r1_searcher import R1Searcher
from trio_core.methods.rq_rag import RqRag
from trio_core.methods.search_o1 import SearchO1
from trio_core.methods.search_r1 import SearchR1
from trio_core.methods.self_rag import SelfRag
from trio_core.methods.sure import Sure
from trio_core.methods.trio import Trio
from trio_core.retrieval.noise import NoisyRetriever

METHODS: dict[str, type[Any]] = {
    m.name: m
    for m in (
        Trio,
        Maps,
        NoRetrieval,
        Naive,
        IterRetgen,
        Ircot,
        Sure,
        SearchO1,
        ParallelSearch,
        Drag,
        MaRag,
        RqRag,
        SearchR1,
        R1Searcher,
        SelfRag,
    )
}


def method_type(name: str) -> type[Any]:
    """The method's class. Raises InputError that lists the names."""
    if name not in METHODS:
        raise InputError(f"method {name!r} does not exist; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def build_method(name: str, settings: Mapping[str, Any], tools: Tools) -> Method:
    """An instance with checked settings. Raises InputError or SettingsError."""
    kind = method_type(name)
    checked = check_settings(kind.settings_type, settings, name)
    if isinstance(checked, SearchSettings) and checked.noise:
        tools = tools._replace(retriever=NoisyRetriever(tools.retriever, checked.noise, checked.noise_seed))
    return kind(checked, tools._replace(bare=checked.bare_roles))


__all__ = ["METHODS", "Method", "Tools", "build_method", "method_type"]
