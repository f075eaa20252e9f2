"""The start and the end of a crawl by ``scrapy crawl``: the checks of its input, its crawler, and its exit status.

Before a crawler exists the command finds every problem, chooses a JOBDIR and determines the command that resumes the
crawl. If the scheduler refuses to start, the refusal is a message, not a traceback: Scrapy's engine would close the
spider as if it had been open and log the failures of that, so the engine here forgets the refused spider, and there
is nothing to close and nothing to log.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.ossignal import install_shutdown_handlers
from scrapy.utils.reactor import is_reactor_installed

from webcrawl import addon
from webcrawl.config import Configuration, check
from webcrawl.config.copies import copy_settings
from webcrawl.config.vocabulary import hint
from webcrawl.crawl import essentials
from webcrawl.crawl.arguments import STANDARD_INPUT, check_arguments, own_names
from webcrawl.crawl.context import get_fatal_error
from webcrawl.crawl.jobdir import new_folder
from webcrawl.crawl.page_processing import BROKEN
from webcrawl.crawl.refused_start import REFUSALS, answered, closing, get_refusal, let_go, reasons
from webcrawl.crawl.schemes import supported_schemes
from webcrawl.engine.engine import DirectEngine
from webcrawl.engine.shutdown import SIGNALS, end_process, signals_of_process, stopped_before_start
from webcrawl.errors import ConfigurationError, CrawlError, JobdirUnusable, Problem
from webcrawl.extensions.errors import REASON as UNANTICIPATED
from webcrawl.extensions.stopping import Stopping
from webcrawl.extensions.summary import RESUME_COMMAND, Summary
from webcrawl.feeds import going_on, lost_feeds, wrong_feeds
from webcrawl.logs import hush_inventory, log_level
from webcrawl.storage import technology_in
from webcrawl.terminal import strange_words, unusable

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator

    from scrapy import Spider
    from scrapy.crawler import CrawlerProcessBase

    ReadOptions = Callable[[list[str], argparse.Namespace], None]


logger = logging.getLogger(__name__)


class RefusableCrawler(Crawler):
    """A crawler with a ``RefusableEngine``; the refusal is passed to the command that created the crawler."""

    def _create_engine(self) -> RefusableEngine:
        answered(self)
        return RefusableEngine(self, lambda _: self.stop_async())


class RefusableEngine(DirectEngine):
    """An engine that drops a spider whose start was refused. Uses ``_start`` of Scrapy's engine."""

    async def open_spider_async(self, *, close_if_idle: bool = True) -> None:
        try:
            await super().open_spider_async(close_if_idle=close_if_idle)
        except REFUSALS:
            let_go(self)
            raise
        if self._start is not None:
            self._start = self._watched(self._start)

    async def _watched(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Iterate over the spider's start; a refusal ends the crawl without a traceback."""
        try:
            async for output in start:
                yield output
        except REFUSALS as error:
            raise closing(self.crawler, error) from error


RESUMED_BY = "RESUMED_BY_COMMAND"
"""The environment variable by which a program that runs this command names the one that resumes the crawl."""
JOBDIR = "@JOBDIR@"
"""The place of the JOBDIR in it."""
FETCH_LOG = "fetch.jsonl"
NOT_BEGUN = "scrapy crawl: stopped before it began"


def unreadable_settings(opts: argparse.Namespace) -> list[Problem]:
    """Remove those values of ``-s`` from ``opts`` that Scrapy could not store, and return them as problems."""
    problems = []
    for setting in list(opts.set):
        name, equals, value = setting.partition("=")
        try:
            if equals:
                Settings().set(name, value, priority="cmdline")
        except ValueError:
            problems.append(Problem(name, f"must be a JSON object, not {value!r}"))
            opts.set.remove(setting)
    return problems


def spider_named(args: list[str], settings: Settings) -> type[Spider] | Problem:
    """Return the spider that the command names, or the problem with it."""
    if not args:
        known = ", ".join(sorted(get_spider_loader(settings).list()))
        return Problem("", f"no spider; give the name of one{f': {known}' if known else ''}")
    if strange := next(strange_words("crawl", args), None):
        return strange
    if len(args) > 1:
        return Problem(args[1], f"is one argument too many after the spider {args[0]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the loader runs again at the start of the crawl, and warns then
        loader = get_spider_loader(settings)
    try:
        return loader.load(args[0])
    except KeyError:
        return Problem(args[0], f"is no spider; {hint(args[0], sorted(loader.list()))}")


def find_problems(
    settings: Settings, spider: type[Spider], opts: argparse.Namespace, known: Collection[str]
) -> list[Problem]:
    """Return all problems of the settings, the spider's included, and of its arguments.

    ``known`` are the names of the settings before the command line was read.
    """
    merged = _merged(settings, spider)
    names = list(dict.fromkeys(item.partition("=")[0] for item in opts.set))
    problems = check(merged, names, {*known, *(spider.custom_settings or ())})
    problems += _log_file(merged)
    problems += wrong_feeds(merged)
    if _has_begun(merged):
        problems += lost_feeds(merged)
    wrong = {problem.name for problem in problems}
    # If a setting is wrong the arguments are still checked, against the default of that setting.
    for name in wrong:
        merged.attributes.pop(name, None)
    if not check(merged):
        # As when the crawl starts: the add-on also sees what the spider has set.
        addon.complete_if_used(merged)
        configuration = Configuration.from_settings(merged)
        problems += _number_of_workers(configuration, merged, spider, opts)
        problems += _parts(merged)
        try:
            schemes = supported_schemes(merged)
        except ConfigurationError as error:
            return [*problems, *error.problems]
        resuming = _holds_crawl(configuration)
        more = check_arguments(spider, opts.spargs, configuration, resuming=resuming, schemes=schemes)
        # A contact that is none is one problem, not two.
        problems += [
            problem for problem in more if problem.name not in wrong or problem.name != "CRAWLER_CONTACT"
        ]
    return problems


def _merged(settings: Settings, spider: type[Spider]) -> Settings:
    """Return the settings with those of the spider."""
    merged = copy_settings(settings)
    spider.update_settings(merged)
    if agent := getattr(spider, "user_agent", None):
        merged.set("USER_AGENT", agent, priority="cmdline")
    return merged


def complete(settings: Settings, spider: type[Spider]) -> None:
    """Set the User-Agent, choose a new JOBDIR if none was given, and record how to resume the crawl."""
    merged = _merged(settings, spider)
    configuration = Configuration.from_settings(merged)
    settings.set("USER_AGENT", configuration.user_agent, priority="cmdline")
    if not configuration.storage.is_lasting:
        return
    command = ["scrapy", "crawl", *going_on(_without_standard_input(sys.argv[1:]), merged)]
    if configuration.jobdir is None:
        shared = configuration.storage.is_shared
        directory = new_folder(f"{spider.name}-{configuration.worker_name}" if shared else spider.name)
        settings.set("JOBDIR", str(directory), priority="cmdline")
        command += ["-s", f"JOBDIR={directory}"]
        what = "The data of this worker" if shared else "The crawl"
        if settings.getbool("LOG_ENABLED"):
            sys.stderr.write(
                f"{what} is kept in {directory}\nTo resume it: {_resuming(command, directory)}\n"
            )
    settings.set(RESUME_COMMAND, _resuming(command, settings["JOBDIR"]), priority="cmdline")


def _resuming(command: list[str], directory: object) -> str:
    """Return the command that resumes the crawl: this one, or that of the program that runs it."""
    command_of_user = os.environ.get(RESUMED_BY)
    return (
        join(command) if command_of_user is None else command_of_user.replace(JOBDIR, quote(str(directory)))
    )


def _without_standard_input(arguments: list[str]) -> list[str]:
    """Return the command's arguments without ``-a seeds=-``: a crawl that has begun needs no seeds."""
    source = f"seeds={STANDARD_INPUT}"
    kept: list[str] = []
    for argument in arguments:
        if argument == source and kept[-1:] == ["-a"]:
            kept.pop()
        elif argument != f"-a{source}":
            kept.append(argument)
    return kept


def _number_of_workers(
    configuration: Configuration, settings: Settings, spider: type[Spider], opts: argparse.Namespace
) -> Iterator[Problem]:
    """Yield the problems of a crawl of several workers, and of a JOBDIR that was begun in the other way."""
    folder = configuration.jobdir
    begun = None if folder is None else technology_in(folder)
    has_several = begun is not None and begun.keeper is not None
    if configuration.workers == 1:
        if has_several:
            yield Problem(
                "WORKERS",
                f"{folder} is the crawl of several workers, which keep its state in a server of its own; say -s "
                "WORKERS=auto or a number from 2 on, or give another JOBDIR",
            )
        return
    # A crawl of one process does not import it.
    from webcrawl.workers.start import problems

    if folder is not None and not has_several and (begun is not None or (folder / FETCH_LOG).exists()):
        yield Problem(
            "WORKERS",
            f"{folder} is the crawl of one process, whose state several cannot share; leave WORKERS out, or give "
            "another JOBDIR",
        )
        return
    yield from problems(settings, spider, opts.spargs)


def _holds_crawl(configuration: Configuration) -> bool:
    if configuration.storage.is_shared:
        # Another process may have begun it, or its URLs may be pushed.
        return True
    return configuration.jobdir is not None and technology_in(configuration.jobdir) is not None


def _has_begun(settings: Settings) -> bool:
    """Return True if the JOBDIR is that of a crawl, or of one of its workers, that has begun."""
    folder = Path(settings["JOBDIR"]) if settings.get("JOBDIR") else None
    return folder is not None and (technology_in(folder) is not None or (folder / FETCH_LOG).exists())


def _parts(settings: Settings) -> list[Problem]:
    """Return the essential components that are not enabled, and those that cannot be imported."""
    try:
        return essentials.missing(settings)
    except (ImportError, NameError, TypeError, ValueError) as error:
        return [Problem("", f"a part of the crawl that the settings name cannot be created: {error}")]


def report(settings: Settings, lines: Iterable[str]) -> None:
    """Write why the crawl does not start, also to a log file: a scheduler of jobs may show that alone."""
    text = "".join(f"scrapy crawl: {line}\n" for line in lines)
    sys.stderr.write(text)
    if (path := settings.get("LOG_FILE")) and settings.getbool("LOG_ENABLED"):
        with suppress(OSError), Path(path).open("a", encoding="utf-8") as log:
            log.write(text)


def _log_file(settings: Settings) -> list[Problem]:
    """Check the log file: one that cannot be opened would end in a traceback when the crawl starts."""
    if not settings.get("LOG_FILE"):
        return []
    path = Path(settings["LOG_FILE"])
    if path.is_dir() or not path.absolute().parent.is_dir():
        return [Problem("LOG_FILE", f"must be a file in a folder that exists, not {str(path)!r}")]
    return []


class CrawlRun:
    """One run of ``scrapy crawl``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._spider: type[Spider] | None = None
        self.is_alone = True
        """False if several processes work on the crawl, and this one is their parent."""
        self._is_open = False
        self._reason: str | None = None
        self._error: BaseException | None = None

    def check(self, args: list[str], opts: argparse.Namespace, read_options: ReadOptions) -> None:
        """Check all input; nothing has been started or written when something is wrong.

        ``read_options`` is Scrapy's part: it puts the options into the settings.
        """
        before = {number: signal.getsignal(number) for number in SIGNALS}
        install_shutdown_handlers(stopped_before_start(NOT_BEGUN))
        try:
            self._check(args, opts, read_options)
        except BaseException:
            for number, handler in before.items():
                signal.signal(number, handler)
            raise

    def _check(self, args: list[str], opts: argparse.Namespace, read_options: ReadOptions) -> None:
        known = own_names(opts, self._settings).union(self._settings)
        pid_file, opts.pidfile = opts.pidfile, None
        problems = unreadable_settings(opts)
        # Scrapy looks for the format of a feed among the exporters.
        addon.complete_if_used(self._settings)
        read_options(args, opts)
        spider = spider_named(args, self._settings)
        if isinstance(spider, Problem):
            problems.append(spider)
        else:
            self._spider = spider
            try:
                problems += find_problems(self._settings, spider, opts, known)
            except PermissionError as error:
                problems.append(Problem("JOBDIR", unusable(error)))
        if problems or self._spider is None:
            report(self._settings, map(str, problems))
            sys.exit(2)
        try:
            complete(self._settings, self._spider)
        except JobdirUnusable as error:
            report(self._settings, [str(error)])
            sys.exit(2)
        merged = copy_settings(self._settings)
        self._spider.update_settings(merged)
        self.is_alone = Configuration.from_settings(merged).workers == 1
        hush_inventory(log_level(self._settings))
        if pid_file:
            Path(pid_file).write_text(f"{os.getpid()}\n", encoding="utf-8")

    def run(
        self, process: CrawlerProcessBase, warn_of_feeds: Callable[..., None], opts: argparse.Namespace
    ) -> int:
        """Run the crawl to its end; return the exit status. ``warn_of_feeds`` is Scrapy's part, at the start."""
        assert self._spider is not None
        crawler = RefusableCrawler(self._spider, self._settings, init_reactor=not is_reactor_installed())
        crawler.signals.connect(warn_of_feeds, signal=signals.engine_started)
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        started: Any = process.crawl(crawler, **opts.spargs)
        if isinstance(started, asyncio.Task):
            started.add_done_callback(self._ended)
        else:
            started.addErrback(self._failed)
        # What was imported stays: the collection at the start of the engine, on the event loop, need not traverse it.
        gc.freeze()
        process.start()
        # The crawl is over, and a further signal must not change its outcome.
        install_shutdown_handlers(signal.SIG_IGN)
        signals_of_process().ended()
        if self._is_open and (summary := crawler.get_extension(Summary)) is not None:
            summary.forced()
        return self._status(crawler)

    def run_workers(self, args: list[str], opts: argparse.Namespace) -> int:
        """Run the crawl in several processes to its end; return the exit status."""
        # A crawl of one process does not import it.
        from webcrawl.workers.start import GivenCommand, WorkersRun

        assert self._spider is not None
        try:
            run = WorkersRun(self._settings, self._spider, GivenCommand.of(args, opts))
            return run.run(self._settings.get(RESUME_COMMAND))
        except CrawlError as error:
            report(self._settings, reasons(error))
        except OSError as error:
            report(self._settings, [unusable(error)])
        return 2

    def _opened(self) -> None:
        self._is_open = True

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._error = task.exception()

    def _failed(self, failure: Any) -> None:
        self._error = failure.value

    def _status(self, crawler: RefusableCrawler) -> int:
        """Return the exit status; if it is not 0 write the reason to standard error."""
        refusal = get_refusal(crawler) or self._error
        if isinstance(refusal, REFUSALS):
            report(crawler.settings, reasons(refusal))
            return 2
        if self._error is not None:
            logger.critical("The crawl could not start", exc_info=self._error)
            return 1
        if not self._is_open:
            # For example while waiting for a Redis that is still loading its data. Threads may wait for it too.
            sys.stderr.write(f"{NOT_BEGUN}\n")
            end_process(0)
        stopping = crawler.get_extension(Stopping)
        if self._reason is not None and stopping is not None and not stopping.has_ended():
            sys.stderr.write("scrapy crawl: stopped by force; feeds and extensions had not ended\n")
            return 1
        if self._reason is None:
            sys.stderr.write("scrapy crawl: stopped by force; requests in flight will be fetched again\n")
            return 1
        # The close reasons of crawls that ended because of errors.
        wrong = (UNANTICIPATED, BROKEN, "storage_lost", "start_error", "memusage_exceeded")
        return 1 if self._reason in wrong or get_fatal_error(crawler) is not None else 0
