"""Operators by name: a file with a line for each, ``NAME RIGHT TOKEN``, where the right is ``read`` or ``operate``.

The file is written by people, or by ``scrapy token``. A change counts from the next request on; a line that is
removed ends the sessions of its operator.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replacement
from webcrawl.errors import CrawlError
from webcrawl.urls.lists import printable
from webcrawl.web.access import TOKEN_BYTES, Operator, Right

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ, OPERATE = "read", "operate"
RIGHTS = {READ: Right.READ, OPERATE: Right.WRITE}
TOKEN_LEAST = 20
"""Characters of a token: shorter ones can be guessed."""
_FILE_MAX = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}").fullmatch
_TOKEN = re.compile(rf"[!-~]{{{TOKEN_LEAST},1024}}").fullmatch

logger = logging.getLogger(__name__)


class OperatorsFile:
    """The operators of a file, which need not be there. What is wrong in it gives nobody a right."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: tuple[int, ...] | None = None
        self._operators: tuple[Operator, ...] = ()

    def operators(self) -> tuple[Operator, ...]:
        """Return the operators; the file is read again when it has changed."""
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            self._version, self._operators = None, ()
            return ()
        except OSError as error:
            return self._none((error.errno or 0,), f"cannot be read: {error.strerror}")
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            version = (about.st_ino, about.st_mtime_ns, about.st_size, about.st_mode)
            if version == self._version:
                return self._operators
            if about.st_mode & 0o077:
                return self._none(version, "can be read by others than its owner; chmod 600 it")
            text = file.read(_FILE_MAX).decode("utf-8", "replace")
        self._version, self._operators = version, tuple(self._in(text))
        return self._operators

    def _none(self, version: tuple[int, ...], why: str) -> tuple[Operator, ...]:
        if version != self._version:
            logger.warning("%s %s: nobody in it has a right", self.path, why)
        self._version, self._operators = version, ()
        return ()

    def _in(self, text: str) -> Iterator[Operator]:
        names: set[str] = set()
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if (why := _wrong(words, names)) is not None:
                # The line has a token, so it is not quoted.
                logger.warning("%s: line %d gives nobody a right: %s", self.path, number, why)
                continue
            name, right, token = words
            names.add(name)
            yield Operator(name, RIGHTS[right], token)


def right_in_words(right: Right) -> str:
    """Return the word of a right in the file."""
    return next(word for word, known_right in RIGHTS.items() if known_right is right)


def add(path: Path, name: str, right: str) -> str:
    """Add an operator and return its token, a new one.

    :raises CrawlError: the name is wrong, or there is one of this name :raises OSError:
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    lines = _lines(path)
    if (why := _wrong([name, right, token], {line.split()[0] for line in lines if line.split()})) is not None:
        raise CrawlError(f"{printable(name)}: {why.replace('above', f'in {path}; revoke it first')}")
    _write(path, [*lines, f"{name} {right} {token}"])
    return token


def revoke(path: Path, name: str) -> None:
    """Remove an operator. :raises CrawlError: there is none of this name :raises OSError:"""
    lines = _lines(path)
    kept = [line for line in lines if line.split()[:1] != [name]]
    if len(kept) == len(lines):
        raise CrawlError(f"{printable(name)}: there is no operator of this name in {path}")
    _write(path, kept)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except ValueError:
        raise CrawlError(f"{path} is no text in UTF-8") from None


def _write(path: Path, lines: list[str]) -> None:
    """Replace the file; nobody but its owner can read it at any moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as part:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(handle, 0o600)
            file.writelines(f"{line}\n" for line in lines)


def _wrong(words: list[str], names: set[str]) -> str | None:
    if len(words) != 3:
        return "it must be NAME RIGHT TOKEN"
    name, right, token = words
    if not _NAME(name):
        return "a name has up to 40 letters, digits, hyphens and underscores"
    if name in names:
        return "there is such a name above"
    if right not in RIGHTS:
        return f"the right must be one of {', '.join(RIGHTS)}"
    return None if _TOKEN(token) else f"a token has {TOKEN_LEAST} to 1024 characters of ASCII"
