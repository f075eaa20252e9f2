"""What the crawl command does before a crawler exists: find every problem, choose a JOBDIR, say how to
resume.
"""

from __future__ import annotations

import sys
import warnings
from datetime import datetime
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from webcrawl import essentials
from webcrawl.commands.arguments import STANDARD_INPUT, check_arguments
from webcrawl.configuration import Configuration, check
from webcrawl.configuration.vocabulary import nearest
from webcrawl.errors import Problem
from webcrawl.extensions.summary import RESUME_COMMAND
from webcrawl.feeds import going_on, lost_feeds, wrong_feeds
from webcrawl.jobdir import FRONTIER

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from scrapy import Spider

CRAWLS = Path("crawls")
"""Where crawls without a JOBDIR go, in the folder in which the command is given."""
FETCH_LOG = "fetch.jsonl"


def unreadable_settings(opts: argparse.Namespace) -> list[Problem]:
    """Take those values of ``-s`` out of ``opts`` that Scrapy could not even store, and name them."""
    problems = []
    for given in list(opts.set):
        name, equals, value = given.partition("=")
        try:
            if equals:
                Settings().set(name, value, priority="cmdline")
        except ValueError:
            problems.append(Problem(name, f"must be a JSON object, not {value!r}"))
            opts.set.remove(given)
    return problems


def spider_named(args: list[str], settings: Settings) -> type[Spider] | Problem:
    """The spider that the command names, or why it names none.

    :raises UsageError: nothing is named at all.
    """
    if not args:
        raise UsageError
    if strange := next((arg for arg in args if arg.startswith("-")), None):
        return Problem(strange, "is no option of this command; see scrapy crawl -h")
    if len(args) > 1:
        return Problem(args[1], f"is one argument too many; {args[0]} was taken for the spider")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the loader runs again when the crawl starts, and warns then
        loader = get_spider_loader(settings)
    try:
        return loader.load(args[0])
    except KeyError:
        names = loader.list()
        meant = nearest(args[0], names)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(sorted(names)) or 'none'}"
        return Problem(args[0], f"is no spider; {hint}")


def problems(
    settings: Settings, spider: type[Spider], opts: argparse.Namespace, known: Collection[str]
) -> list[Problem]:
    """Everything that is wrong with the settings, the spider's included, and with its arguments.

    ``known`` are the names that the settings had before the command line was read.
    """
    merged = settings.copy()
    spider.update_settings(merged)
    given = list(dict.fromkeys(item.partition("=")[0] for item in opts.set))
    found = check(merged, given, {*known, *(spider.custom_settings or ())})
    found += _log_file(merged)
    found += wrong_feeds(merged)
    if _has_begun(merged):
        found += lost_feeds(merged)
    wrong = {problem.name for problem in found}
    # With a wrong setting the arguments are still checked, against the default of what is wrong.
    for name in wrong:
        merged.attributes.pop(name, None)
    if not check(merged):
        found += _parts(merged)
        resuming = _holds_crawl(merged)
        found += check_arguments(spider, opts.spargs, Configuration.from_settings(merged), resuming=resuming)
    return found


def complete(settings: Settings, spider: type[Spider]) -> None:
    """Compose the User-Agent, choose a fresh JOBDIR where none was given, and note how to resume the
    crawl.
    """
    merged = settings.copy()
    spider.update_settings(merged)
    configuration = Configuration.from_settings(merged)
    settings.set("USER_AGENT", configuration.user_agent, priority="cmdline")
    if configuration.frontier_backend == "memory":
        return
    command = ["scrapy", "crawl", *going_on(_without_standard_input(sys.argv[1:]))]
    if configuration.jobdir is None:
        shared = configuration.frontier_backend == "redis"
        directory = _fresh(f"{spider.name}-{configuration.worker_name}" if shared else spider.name)
        settings.set("JOBDIR", str(directory), priority="cmdline")
        command += ["-s", f"JOBDIR={directory}"]
        what = "What this worker fetches" if shared else "The crawl"
        sys.stderr.write(f"{what} is kept in {directory}\nTo resume it: {join(command)}\n")
    settings.set(RESUME_COMMAND, join(command), priority="cmdline")


def _fresh(spider: str) -> Path:
    stem = f"{spider}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    number, directory = 1, CRAWLS / stem
    while directory.exists():
        number += 1
        directory = CRAWLS / f"{stem}-{number}"
    return directory


def _without_standard_input(arguments: list[str]) -> list[str]:
    """The command's arguments less ``-a seeds=-``: a crawl that has begun needs no seeds."""
    source = f"seeds={STANDARD_INPUT}"
    kept: list[str] = []
    for argument in arguments:
        if argument == source and kept[-1:] == ["-a"]:
            kept.pop()
        elif argument != f"-a{source}":
            kept.append(argument)
    return kept


def _holds_crawl(settings: Settings) -> bool:
    if Configuration.from_settings(settings).frontier_backend == "redis":
        # It may have been begun by another process, or be fed by whoever pushes URLs.
        return True
    return bool(settings.get("JOBDIR")) and (Path(settings["JOBDIR"]) / FRONTIER).exists()


def _has_begun(settings: Settings) -> bool:
    """Whether the JOBDIR is that of a crawl, or of one of its workers, that has begun."""
    folder = Path(settings["JOBDIR"]) if settings.get("JOBDIR") else None
    return folder is not None and any((folder / name).exists() for name in (FRONTIER, FETCH_LOG))


def _parts(settings: Settings) -> list[Problem]:
    """Essential parts that are not in force; what cannot be imported is named, too."""
    try:
        return essentials.missing(settings)
    except (ImportError, NameError, TypeError, ValueError) as error:
        return [Problem("", f"a part of the crawl that the settings name cannot be made: {error}")]


def _log_file(settings: Settings) -> list[Problem]:
    """A log file that cannot be opened would end in a traceback when the crawl starts."""
    if not settings.get("LOG_FILE"):
        return []
    path = Path(settings["LOG_FILE"])
    if path.is_dir() or not path.absolute().parent.is_dir():
        return [Problem("LOG_FILE", f"must be a file in a folder that exists, not {str(path)!r}")]
    return []
