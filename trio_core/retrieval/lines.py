"""Lines of a corpus file, whatever it is packed in: plain, .gz, or the tar.gz that wiki-18 calls .gz.

Only `\\n` ends a record. Python's text mode would also split at `\\r`, which DPR texts contain, and `str.splitlines`
at U+2028; both once cut passages in two.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trio_core.errors import CorpusError

Line = tuple[int, str]
"""Line number (from 1) and the text without its line end."""

_TAR_MAGIC_AT = 257


def numbered_lines(path: Path) -> Iterator[Line]:
    """Lines of one file, decoded as UTF-8 without BOM.

    Raises CorpusError that names the file and, for a wrong encoding, the line, the byte and a way to convert.
    """
    number = 0
    try:
        with open_binary(path) as stream:
            for number, raw in enumerate(stream, 1):
                yield number, _decode(raw, number, path)
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise CorpusError(
            f"{str(path)!r} is damaged after line {number}: {error}; download or compress it again"
        ) from error
    except OSError as error:
        raise CorpusError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """A whole (small) file as text; errors as in `numbered_lines`."""
    return "\n".join(text for _, text in numbered_lines(path))


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes after unpacking; of a tar archive, the first file in it."""
    with path.open("rb") as plain:
        if not _is_packed(path):
            yield plain
            return
        stream = io.BufferedReader(gzip.GzipFile(fileobj=plain), 1 << 16)
        head = stream.peek(_TAR_MAGIC_AT + 5)[_TAR_MAGIC_AT:_TAR_MAGIC_AT + 5]
        if head != b"ustar":
            yield stream
            return
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            yield _first_file(archive, path)


def _is_packed(path: Path) -> bool:
    return path.suffix in (".gz", ".tgz")


def _first_file(archive: tarfile.TarFile, path: Path) -> IO[bytes]:
    for member in archive:
        stream = archive.extractfile(member) if member.isfile() else None
        if stream is not None:
            return stream
    raise CorpusError(f"{str(path)!r} is a tar archive without a file in it")


def _decode(raw: bytes, number: int, path: Path) -> str:
    if number == 1:
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise CorpusError(
                f"{str(path)!r} line 1: bytes {raw[0]:#04x} {raw[1]:#04x} mark UTF-16, the corpus must be UTF-8; "
                "convert it with: iconv -f utf-16 -t utf-8"
            )
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    body = raw[:-1] if raw.endswith(b"\n") else raw
    body = body[:-1] if body.endswith(b"\r") else body
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{str(path)!r} line {number}: byte {body[error.start]:#04x} at position {error.start} is not UTF-8; "
            "if the file is Latin-1, convert it with: iconv -f latin1 -t utf-8"
        ) from error
