"""Adds a line to an exclusion file while crawls read it, atomically and without changing other lines."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from webcrawl.atomic_file import replacing
from webcrawl.scope.exclusion import ExclusionError, ExclusionList
from webcrawl.urls.lists import LONGEST_LINE, hostname, printable, read_lines
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.schemes import resolve_any

if TYPE_CHECKING:
    from collections.abc import Iterator

ALLOWED = "a domain such as example.org, or a URL prefix such as https://example.org/private/"
NEW_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A domain or a URL prefix that is to be excluded."""

    text: str
    """The text as it was given."""
    host: str
    """The domain, or the host of the prefix; as in a resolved URL, without a final dot."""
    alone: ExclusionList
    """A list with this entry alone."""

    @classmethod
    def read(cls, text: str) -> Exclusion:
        """:raises ExclusionError: it is neither a domain nor a URL prefix; the message says what is allowed"""
        text = text.strip()
        host = _host(text)
        # A text that is not parsed back unchanged contains the beginning of a comment.
        raw = text.encode("utf-8", "replace")[:LONGEST_LINE]
        if (
            host is None
            or not text.isprintable()
            or [line.text for line in read_lines(BytesIO(raw))] != [text]
        ):
            raise ExclusionError(f"must be {ALLOWED}, not {printable(text)!r}")
        return cls(text, host, ExclusionList.of(raw))

    def may_be_on(self, key: str) -> bool:
        """Return True if URLs that it covers can have this politeness key, a host name or a registrable domain."""
        key = key.rstrip(".")
        return key == self.host or key.endswith(f".{self.host}") or self.host.endswith(f".{key}")

    def covers(self, url: str) -> bool:
        """Return True if it excludes a URL in resolved form."""
        return self.alone.objection(url, get_host(url)) is not None

    def covered_by(self, exclusions: ExclusionList) -> str | None:
        """Return the line of a list that covers all of it already, with its reason; None if there is none."""
        if "/" in self.text:
            url = resolve_any(self.text, "about:blank")
            return None if url is None else exclusions.objection(url, get_host(url))
        return exclusions.domain_objection(self.host)

    def line(self, reason: str, date: str) -> str:
        """Return the line of the entry with its comment."""
        comment = printable(" ".join(reason.split()), None)
        return f"{self.text}  # {date} {comment}".rstrip()


def _host(text: str) -> str | None:
    if "/" not in text:
        return hostname(text.removeprefix("*."))
    url = resolve_any(text, "about:blank")
    return None if url is None else get_host(url).rstrip(".")


class ExclusionFile:
    """The file, which may not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> ExclusionList:
        """Return its list; an empty one if there is no file.

        :raises ExclusionError: it cannot be read, or has wrong lines; the message names each
        """
        try:
            return ExclusionList.load(self.path)
        except ExclusionError:
            if self.path.exists() or self.path.is_symlink():
                raise
            return ExclusionList.of(b"")

    def append(self, entry: Exclusion, line: str) -> ExclusionList:
        """Add a line unless the entry is covered; return the list as it is then. Several processes may do so at the
        same time.

        Existing lines stay as they are, byte by byte. The new file replaces the old one in one step and is durable
        before.

        :raises ExclusionError: the file is wrong or cannot be written; it was not changed
        """
        path = Path(os.path.realpath(self.path))
        try:
            with _alone_in(path.parent):
                before = self.read()
                if entry.covered_by(before) is not None:
                    return before
                _replace(path, line.encode())
        except OSError as error:
            raise ExclusionError(f"{self.path}: {error.strerror or error}") from error
        return self.read()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock out other writers. The file itself is replaced, so the lock is on its folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        with suppress(OSError):
            # The new name itself; some file systems do not support it.
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, line: bytes) -> None:
    """Write a file with one more line beside the old one, and replace the old one by it."""
    content, status = b"", None
    with suppress(FileNotFoundError), path.open("rb") as stream:
        content, status = stream.read(), os.fstat(stream.fileno())
    if content and not content.endswith((b"\n", b"\r")):
        content += b"\n"
    unfinished = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    with replacing(path, unfinished, sync=True) as stream:
        _be_like(stream.fileno(), status)
        stream.write(content + line + b"\n")


def _be_like(descriptor: int, status: os.stat_result | None) -> None:
    """Give the new file the owner and mode of the old one, so that the same users can read it."""
    if status is None:
        os.fchmod(descriptor, NEW_MODE)
        return
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
