"""The base classes of the project's commands.

It is not in ``commands/``, since Scrapy takes each class of a command in that folder for a command.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from scrapy.commands import ScrapyCommand, ScrapyHelpFormatter

from webcrawl.config import Configuration, check
from webcrawl.control.selection import apply_spider_settings, require_crawl, select_crawl_in
from webcrawl.crawl.arguments import BROAD, own_names
from webcrawl.errors import ConfigurationError, CrawlError, Problem
from webcrawl.terminal import (
    complain,
    crawl_as_json,
    reader_is_gone,
    refuse,
    strange_words,
    tell,
    until_reader_leaves,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from webcrawl.control.operating import Tell
    from webcrawl.control.stored import StoredCrawl

SERVERS = ("redis://", "rediss://", "unix://")
"""The beginnings of REDIS_URL."""

Number = TypeVar("Number", int, float)


def number(kind: Callable[[str], Number], least: float, most: float, allowed: str) -> Callable[[str], Number]:
    """Return the type of an option: a number from ``least`` to ``most``; ``allowed`` says so in the error message."""

    def read(text: str) -> Number:
        with suppress(ValueError):
            value = kind(text)
            if least <= value <= most:
                return value
        raise argparse.ArgumentTypeError(f"must be {allowed}, not {text!r}")

    return read


class HelpFormatter(ScrapyHelpFormatter):
    """Scrapy's formatter, which underlines headings. It takes any line that ends with a colon for one; this one does
    not touch the lines of options, which begin with spaces."""

    def format_part_strings(self, part_strings: list[str]) -> list[str]:
        if part_strings and part_strings[0].startswith(" "):
            return part_strings
        return super().format_part_strings(part_strings)


class ProjectCommand(ScrapyCommand):
    """A command that checks its arguments and settings before it does anything.

    Exit status 2: something is wrong, with a line on standard error for each problem. 1: interrupted, or as the
    command defines it. 141: its output was not read to its end (``| head``).
    """

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it

    free_words = 0
    """The number of first words that may begin with a hyphen."""
    json_help: ClassVar[str | None] = None
    """The help of the option --json, for commands that have it."""
    spider_help: ClassVar[str | None] = None
    """The help of the option --spider, for commands that have it."""
    expected: ClassVar[tuple[type[Exception], ...]] = (CrawlError,)
    """Errors whose messages name the cause."""
    interrupted = "interrupted"
    """The line that is written after Ctrl-C."""

    @property
    def name(self) -> str:
        return self.__module__.rpartition(".")[2]

    @property
    def configuration(self) -> Configuration:
        assert self.settings is not None
        return Configuration.from_settings(self.settings)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = HelpFormatter
        if self.spider_help is not None:
            parser.add_argument(
                "--spider", metavar="NAME", default=BROAD, help=f"{self.spider_help} (default: %(default)s)"
            )
        if self.json_help is not None:
            parser.add_argument("--json", action="store_true", help=self.json_help)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        self._known = own_names(opts, self.settings).union(self.settings)
        super().process_options(args, opts)
        self._given = [item.partition("=")[0] for item in opts.set]
        if strange := list(strange_words(self.name, args[self.free_words :])):
            refuse(self.name, strange)
        # The settings come last: a command may complete them when it checks its words.
        try:
            problems = list(self.wrong_words(args, opts))
        except PermissionError as error:
            sys.exit(complain(self.name, [error]))
        if problems := [*problems, *self.wrong_settings()]:
            refuse(self.name, problems)

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        """Yield the problems of arguments and options."""
        yield from ()

    def wrong_settings(self) -> list[Problem]:
        """Return the problems of the settings, including those on the command line."""
        assert self.settings is not None
        return check(self.settings, self._given, self._known)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        wrong: tuple[type[Exception], ...] = (*self.expected, PermissionError)
        with until_reader_leaves(self):
            try:
                self.exitcode = self.answer(args, opts) or 0
            except wrong as error:
                if isinstance(error, BrokenPipeError) and reader_is_gone():
                    raise
                self.exitcode = complain(self.name, self.lines(error))
            except KeyboardInterrupt:
                sys.stderr.write(f"scrapy {self.name}: {self.interrupted}\n")
                self.exitcode = 1

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        """Do what the command is for; return the exit status, 0 by default. May raise the errors in ``expected``."""
        raise NotImplementedError

    def lines(self, error: Exception) -> Iterable[object]:
        """Return an error as lines: the errors of a file of rules have one for each wrong line of the file."""
        return [error] if isinstance(error, CrawlError | OSError) else str(error).splitlines()


def words_and_place(args: list[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command, and the JOBDIR or REDIS_URL that may come last."""
    has_place = bool(args) and (args[-1].startswith(SERVERS) or Path(args[-1]).is_dir())
    return (args[:-1], args[-1:]) if has_place else (list(args), [])


class CrawlCommand(ProjectCommand):
    """A command on one crawl, which is given as a JOBDIR or a REDIS_URL, or by the settings."""

    expected = (CrawlError, OSError)
    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[JOBDIR | REDIS_URL] [options]"

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        self._folder: Path | None = None
        if len(args) > 1:
            yield Problem(args[1], "is one argument too many; give one JOBDIR or REDIS_URL")
        if args and "://" in args[0]:
            self.settings.set("REDIS_URL", args[0], priority="cmdline")
        elif args:
            self._folder = Path(args[0])
        apply_spider_settings(opts.spider, self.settings)

    @property
    def folder(self) -> Path | None:
        """The JOBDIR of the crawl; None for a crawl on Redis.

        :raises CrawlError: it is no folder of a crawl
        """
        folder = self._folder
        if folder is None and not self.configuration.storage.is_shared:
            folder = self.configuration.jobdir
        if folder is None:
            return None
        # Scrapy imports all commands at each start.
        from webcrawl.control import folders

        if not folder.is_dir():
            raise CrawlError(f"{folder} is no folder")
        if not folders.is_crawl(folder):
            raise CrawlError(f"{folder} is no folder of a crawl")
        return folder

    def crawl(self, opts: argparse.Namespace) -> StoredCrawl:
        """Return the crawl. :raises CrawlError: there is none, or other processes cannot read it"""
        assert self.settings is not None
        if (folder := self.folder) is None:
            return require_crawl(self.settings, opts.spider)
        # Scrapy imports all commands at each start.
        from webcrawl.control import folders
        from webcrawl.storage import technology_in

        technology = technology_in(folder)
        crawl = None if technology is None else select_crawl_in(folder, technology)
        if crawl is not None:
            return crawl
        if (shared := folders.look(folder).shared) is not None:
            raise CrawlError(f"{folder} is the folder of one worker of {shared}; give its REDIS_URL")
        raise CrawlError(f"{folder} is no crawl with a frontier on disk")


class WaitingCommand(CrawlCommand):
    """A command that waits until a running crawl has obeyed."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--no-wait", dest="wait", action="store_false", help="do not wait until the crawl has obeyed"
        )


class OperatorCommand(WaitingCommand):
    """A command to a running crawl: its module's name is what it asks for."""

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        return command_crawl(self.crawl(opts), self.name, wait=opts.wait, as_json=opts.json)


def command_crawl(crawl: StoredCrawl, verb: str, *, wait: bool, as_json: bool = False) -> int:
    """Give a command to a crawl, and print what comes of it; return the exit status: 1 if it was not obeyed."""
    # Scrapy imports all commands at each start.
    from webcrawl.features.steering.store import Operation

    def give(say: Tell) -> None:
        crawl.command(Operation(verb), seconds=None if wait else 0.0, tell=say)

    return obeyed(crawl, verb, give, wait=wait, as_json=as_json)


def obeyed(
    crawl: StoredCrawl, verb: str, give: Callable[[Tell], object], *, wait: bool, as_json: bool
) -> int:
    """Give a command to a crawl by ``give``, and print what comes of it; return the exit status: 1 if it was not
    obeyed."""
    # Scrapy imports all commands at each start.
    from webcrawl.control.operating import NotObeyed

    messages: list[str] = []
    try:
        give(messages.append if as_json else tell)
        why = None
    except NotObeyed as error:
        why = str(error)
    except ConfigurationError as error:
        refuse(verb, error.problems)
    if as_json:
        has_obeyed = None if not wait else why is None
        tell(
            crawl_as_json(
                crawl, command=verb, obeyed=has_obeyed, messages=[*messages, *([why] if why else [])]
            )
        )
    elif why is not None:
        complain(verb, [why])
    return 0 if why is None else 1
