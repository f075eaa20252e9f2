"""Output of commands: long results to a file, written atomically, or to standard output; and messages on errors."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from webcrawl.atomic_file import replacing
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy.commands import ScrapyCommand


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
    for part in parts:
        sys.stdout.write(part.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


WRONG = 2
"""The exit status of a command with wrong input."""

READER_GONE = 128 + signal.SIGPIPE
"""The exit status of a command whose output was not read to its end: as of any tool that SIGPIPE ends."""


def reader_is_gone() -> bool:
    """Return True if standard output is a pipe or a socket that nobody reads any more."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return False
    look = select.poll()
    look.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in look.poll(0))


@contextmanager
def until_reader_leaves(command: ScrapyCommand) -> Iterator[None]:
    """End a command quietly, with the status ``READER_GONE``, if the reader of its output leaves before its end."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not reader_is_gone():
            raise
        # Data that Python would still flush at its end is discarded.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        command.exitcode = READER_GONE


class NamedCrawl(Protocol):
    """A crawl that has a name and a place."""

    storage: str

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> str: ...


def crawl_as_json(crawl: NamedCrawl, **fields: object) -> str:
    """Return one JSON object: where the crawl is stored, and ``fields``."""
    return json.dumps({"storage": crawl.storage, "place": crawl.place, **fields})


def table(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return rows as aligned lines; ``left``: the number of left-aligned columns, the others are figures."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def tell(text: str) -> None:
    """Print text that may contain any URL, on any terminal."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def width() -> int | None:
    """Return the number of columns of the terminal; None if the output goes elsewhere, where nothing is cut."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    return max(shutil.get_terminal_size().columns, 20)


def cut(line: str, columns: int | None) -> str:
    """Return a line that fits into so many columns, without its middle if it is too long."""
    if columns is None or len(line) <= columns:
        return line
    kept = columns - 3
    return f"{line[: kept - kept // 3]}...{line[len(line) - kept // 3 :]}"


def complain(command: str, what: Iterable[object]) -> int:
    """Write a line on standard error for each problem; return the exit status."""
    sys.stderr.write("".join(f"scrapy {command}: {_line(problem)}\n" for problem in what))
    return WRONG


def unusable(error: OSError, path: object = None) -> str:
    """Return a file error as a sentence, about ``path`` if the error itself names another one."""
    name = path or error.filename
    why = error.strerror or str(error)
    return f"{name} cannot be used: {why}" if name else why


def _line(what: object) -> str:
    """Return the message of an exception, which may have several lines, as one line."""
    if isinstance(what, OSError):
        what = unusable(what)
    return " ".join(str(what).split()) if isinstance(what, BaseException) else str(what)


def strange_words(command: str, words: Iterable[str]) -> Iterator[Problem]:
    """Yield the words that are no arguments: Scrapy leaves options that it does not know, and a shell makes an empty
    word of a variable that is not set.
    """
    for word in words:
        if word.startswith("-") and word != "-":
            yield Problem(word, f"is no option of this command; see scrapy {command} -h")
        elif not word:
            yield Problem("''", f"is an empty argument; see scrapy {command} -h")


def instead(word: str) -> str:
    """Return the hint for a folder that was given as a word where a crawl is selected by a setting."""
    return f"; a crawl is given as -s JOBDIR={word}" if Path(word).is_dir() else ""


def refuse(command: str, problems: Iterable[Problem]) -> NoReturn:
    """Write a line for each problem and end the command."""
    sys.exit(complain(command, problems))
