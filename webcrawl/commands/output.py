"""Where a command writes what may be long: to a file that appears whole or not at all, or to standard output.

How commands answer: text on any terminal, and a line for everything that is wrong.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from webcrawl.atomic_file import replacing
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write(parts: Iterable[str], path: Path | None) -> None:
    """Write ``parts`` as they come, as UTF-8; without ``path`` to standard output.

    :raises OSError: it cannot be written
    """
    if path is None:
        _print(parts)
        return
    with replacing(path) as file:
        file.writelines(part.encode() for part in parts)


def _print(parts: Iterable[str]) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    try:
        for part in parts:
            sys.stdout.write(part.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough. What Python would still flush at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


WRONG = 2
"""The exit status of a command that was given something wrong."""


def tell(text: str) -> None:
    """Print what may hold any URL, on whatever terminal."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def complain(command: str, what: Iterable[object]) -> int:
    """A line on standard error for each thing that is wrong; the exit status that says so."""
    sys.stderr.write("".join(f"scrapy {command}: {_line(one)}\n" for one in what))
    return WRONG


def unusable(error: OSError, path: object = None) -> str:
    """An error of a file as a sentence, about ``path`` where the error itself names another one."""
    name = path or error.filename
    why = error.strerror or str(error)
    return f"{name} cannot be used: {why}" if name else why


def _line(what: object) -> str:
    """An exception may have several."""
    if isinstance(what, OSError):
        what = unusable(what)
    return " ".join(str(what).split()) if isinstance(what, BaseException) else str(what)


def refuse_strange_options(command: str, words: Iterable[str]) -> None:
    """End the command if one of the words behind it looks like an option: Scrapy leaves those it does not know."""
    strange = [word for word in words if word.startswith("-") and word != "-"]
    if strange:
        refuse(
            command,
            [Problem(word, f"is no option of this command; see scrapy {command} -h") for word in strange],
        )


def refuse(command: str, problems: Iterable[Problem]) -> NoReturn:
    """The same, and the end of the command."""
    sys.exit(complain(command, problems))
