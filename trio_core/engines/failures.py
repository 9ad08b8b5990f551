"""Turns what the HTTP client raises into our errors, with the address, the numbers and what to do."""

from __future__ import annotations

import json
import re

import httpx2
import openai

from trio_core.engine_settings import EngineSettings
from trio_core.errors import EngineBroken, EngineError, EngineTimeout, EngineUnreachable, PromptTooLong

CLIENT_ERRORS = (openai.OpenAIError, httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError, ValueError)
"""Everything that the client raises for an unusable server or reply."""

_TOO_LONG = re.compile(
    r"maximum context length|exceeds? the available context|maximum model length|exceed_context_size"
    r"|max_(?:completion_)?tokens must be at least 1, got -|exceeds model's maximum", re.IGNORECASE)
_CONTEXT = re.compile(r"(?:maximum context length (?:is|of)|context size \(|maximum model length of|context length \()\D{0,3}(\d+)", re.I)
_PROMPT = tuple(re.compile(pattern, re.I) for pattern in (
    r"(\d+) (?:tokens )?in the (?:messages|prompt)", r"(?:has|with|at least) (\d+) input tokens", r"request \((\d+) tokens",
    r"prompt \(length (\d+)", r"input length \((\d+)", r"requested (\d+) tokens"))
"""The prompt's own size comes before sums of prompt and reply."""


def refuses_system_role(error: openai.BadRequestError) -> bool:
    """True for the 400 of chat templates that know no system role (Gemma 2 and others)."""
    text = f"{error.message} {error.body}".lower()
    return "system role" in text and ("support" in text or "allowed" in text)


def translate(error: Exception, settings: EngineSettings, address: str, partial: str) -> EngineError:
    """Our error for one of the client's. `partial` is the text that had arrived."""
    if isinstance(error, openai.APITimeoutError):
        return EngineTimeout(f"no connection to the model server at {address} within {settings.connect_s:g} s (setting "
                             "engine.connect_s); is the address right and the server up?")
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, settings, address)
    if isinstance(error, (openai.APIConnectionError, httpx2.HTTPError)) and not _connected(error):
        return EngineUnreachable(f"no model server answers at {address}; start it, or set engine.base_url to the "
                                 "address of one that runs")
    if isinstance(error, (openai.APIConnectionError, httpx2.HTTPError)):
        return EngineBroken(f"the connection to the model server at {address} broke off in mid-reply; it may have "
                            "been restarted. Run it again", partial)
    return EngineBroken(f"the model server at {address} sent a reply that is no chat completion "
                        f"({_brief(str(error))}); is this an OpenAI-compatible address?", partial)


def _connected(error: BaseException) -> bool:
    cause = error if isinstance(error, httpx2.HTTPError) else error.__cause__
    return not isinstance(cause, (httpx2.ConnectError, httpx2.UnsupportedProtocol))


def _of_status(error: openai.APIStatusError, settings: EngineSettings, address: str) -> EngineError:
    text = _brief(_server_text(error))
    if error.status_code in (400, 413, 422) and _TOO_LONG.search(f"{error.message} {error.body}"):
        return _too_long(error)
    if error.status_code in (401, 403):
        return EngineError(f"the model server at {address} refuses the key (HTTP {error.status_code}: {text}); put a valid "
                           f"key into the environment variable {settings.api_key_env}")
    if error.status_code == 404:
        return EngineError(f"the model server at {address} does not know this model or path (HTTP 404: {text}); check "
                           "engine.model and engine.base_url (it ends in /v1)")
    if error.status_code == 429 or error.status_code >= 500:
        return EngineBroken(f"the model server at {address} failed or is overloaded (HTTP {error.status_code}: {text}); try again later")
    return EngineError(f"the model server at {address} refuses the request (HTTP {error.status_code}: {text})")


def _too_long(error: openai.APIStatusError) -> PromptTooLong:
    text = f"{error.message} {error.body}"
    context = _CONTEXT.search(text)
    has = next((found.group(1) for pattern in _PROMPT if (found := pattern.search(text))), "?")
    allowed = context.group(1) if context else "?"
    return PromptTooLong(f"the prompt is too long for the model: {has} tokens, the server takes {allowed} in all. Use fewer "
                         f"or shorter passages, or a server with a longer context. The server says: {_brief(_server_text(error))}")


def _server_text(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return body["message"]
    return error.message


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 300 else flat[:299] + "…"
