"""Errors that a person is meant to read.

    TrioscopeError
    ├── SettingsError      the user's settings, flags or environment           (user acts)
    ├── InputError         a question, a number or an upload out of bounds      (user acts)
    ├── CorpusError        a corpus file cannot be used                         (user acts)
    ├── DatasetError       a file of questions cannot be used                   (user acts)
    ├── UnfitIndexError        an index does not fit its corpus or encoder          (user acts)
    ├── ModelFileError     the model file is missing or is not the expected one (user acts)
    ├── EngineError        a model server failed                                (server's operator acts)
    │   ├── EngineUnreachable  nothing answers at the address
    │   ├── EngineTimeout      a limit of ours ran out (which one is in the text)
    │   ├── EngineBroken       the answer broke off or is no protocol of ours
    │   ├── PromptTooLong      the server refuses the prompt's length
    │   └── ScriptExhausted    a scripted engine has no reply left (tests)
    ├── RetrieverError     a retriever failed
    ├── StoreError         the store cannot be read or written
    └── TrainingError      a training run cannot start or went wrong

Every message says what was wrong, with which value, and what to do. Bad *model output* is no exception: it is an
event with a parse status (DESIGN.md section 3), so that a run goes on and the output is kept.
"""

from __future__ import annotations


class TrioscopeError(Exception):
    """Base of all errors whose text is shown to the user as it stands."""

    acts = "user"
    where = ""
    """The step of a run in which it happened, where a method knows it."""


class SettingsError(TrioscopeError):
    """Settings that cannot be used."""


class InputError(TrioscopeError):
    """A value given by a person in a page, a request or on the command line is out of bounds."""


class CorpusError(TrioscopeError):
    """A corpus that cannot be read or holds nothing usable."""


class DatasetError(TrioscopeError):
    """A file of questions that cannot be read, is of no known format or holds nothing usable."""


class UnfitIndexError(TrioscopeError):
    """An index that is absent, damaged, or belongs to another corpus or encoder."""


class ModelFileError(TrioscopeError):
    """A model file that is absent or whose content is not what its hash promises."""


class EngineError(TrioscopeError):
    """A model server failed."""

    acts = "server"


class EngineUnreachable(EngineError):
    """Nothing answers at the server's address."""


class EngineTimeout(EngineError):
    """One of our own limits (connect, first token, idle, total) ran out."""


class EngineBroken(EngineError):
    """The stream broke off, or the reply is not what the protocol says. `partial` keeps what had arrived."""

    def __init__(self, message: str, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


class PromptTooLong(EngineError):
    """The server refuses the prompt because of its length."""

    acts = "user"


class ScriptExhausted(EngineError):
    """A scripted engine was asked for more replies than its script holds."""

    acts = "developer"


class RetrieverError(TrioscopeError):
    """A retriever failed."""

    acts = "server"


class StoreError(TrioscopeError):
    """The store cannot be opened, read or written."""


class TrainingError(TrioscopeError):
    """A training run cannot start, or ended without a usable adapter."""
