"""A start that is refused where one of Scrapy's own commands runs the crawl: a line for each thing that is wrong, and
status 2, as ``scrapy crawl`` of this project has it.

``scrapy runspider``, and ``scrapy crawl`` in a project with other commands, know of no refusals: they log a traceback
and end with status 1. A script that runs a crawler gets the exception itself.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from scrapy import signals
from scrapy.exceptions import CloseSpider
from twisted.logger import globalLogBeginner

from webcrawl.archive.disk import ArchiveError
from webcrawl.engine.scrapy_private import forget_spider
from webcrawl.errors import ConfigurationError, CrawlError
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.url_rules import PatternError
from webcrawl.scope.whitelist import WhitelistError
from webcrawl.urls.seeds import SeedsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

REFUSALS = (
    CrawlError,
    ArchiveError,
    SeedsError,
    WhitelistError,
    PatternError,
    ExclusionError,
)
"""Exceptions that say in one line why a crawl does not start."""

WRONG = 2
"""The exit status of a command that was given something wrong."""
START_REFUSED = "start_refused"
"""The close reason of a crawl that has nothing to sum up."""
_COMMANDS = ("crawl", "runspider")
"""Scrapy's commands that run one crawl."""

_answered: WeakSet[Crawler] = WeakSet()
"""Crawlers whose refusal a command tells."""
_of_deferreds: WeakKeyDictionary[Crawler, str] = WeakKeyDictionary()
"""Those of them that a command of Scrapy's runs without a task of its own, with the name of the command."""
_refusals: WeakKeyDictionary[Crawler, Exception] = WeakKeyDictionary()


def reasons(error: BaseException) -> Iterator[str]:
    """The lines in which a refusal says what is wrong."""
    if isinstance(error, ConfigurationError):
        yield from (str(problem) for problem in error.problems)
    else:
        yield " ".join(str(error).split())


def answered(crawler: Crawler) -> None:
    """The command that runs ``crawler`` tells of a refusal itself."""
    _answered.add(crawler)


def answer(crawler: Crawler) -> None:
    """Have one of Scrapy's own commands tell why ``crawler`` is refused, if it is. Without effect anywhere else."""
    command = None if crawler in _answered else _own_command()
    if command is None:
        return
    _answered.add(crawler)
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    if task is None:
        _of_deferreds[crawler] = command
    else:
        task.add_done_callback(lambda done: _task_ended(command, crawler, done))


@contextmanager
def answering(crawler: Crawler) -> Iterator[None]:
    """Have what is refused within told as by ``answer``."""
    answer(crawler)
    try:
        yield
    except REFUSALS as error:
        refused(crawler, error)
        raise


def refused(crawler: Crawler, error: Exception) -> None:
    """``crawler`` does not start, for the reason that ``error`` says, which is raised after this."""
    if _refusals.setdefault(crawler, error) is error and crawler in _of_deferreds:
        _tell(_of_deferreds[crawler], error)
        # Nobody takes the failure of such a crawl: its traceback is all that Twisted would say.
        globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)
        logging.getLogger("twisted").addFilter(_is_no_refusal)


def closing(crawler: Crawler, error: Exception) -> CloseSpider:
    """What closes a crawl that has begun and is refused for what its spider begins with."""
    refused(crawler, error)
    if crawler not in _answered:
        logger.error("The crawl cannot start: %s", "; ".join(reasons(error)))
    elif crawler in _of_deferreds:
        crawler.signals.connect(_exit_soon, signal=signals.engine_stopped)
    return CloseSpider(START_REFUSED)


def refusal_of(crawler: Crawler) -> Exception | None:
    """Why ``crawler`` was refused; None where it was not."""
    return _refusals.get(crawler)


def let_go(engine: ExecutionEngine) -> None:
    """Have the engine forget a spider whose start was refused.

    It would close the spider as if it had been open, and log what fails on the way.
    """
    forget_spider(engine)


def _own_command() -> str | None:
    """The command of Scrapy's own that is being run, by its place on the stack."""
    codes = {}
    for name in _COMMANDS:
        # Scrapy's command line imports all of them.
        if (module := sys.modules.get(f"scrapy.commands.{name}")) is not None:
            codes[module.Command.run.__code__] = name
    frame = sys._getframe() if codes else None
    while frame is not None:
        if frame.f_code in codes:
            return codes[frame.f_code]
        frame = frame.f_back
    return None


def _task_ended(command: str, crawler: Crawler, task: asyncio.Task[object]) -> None:
    error = refusal_of(crawler) or (None if task.cancelled() else task.exception())
    if isinstance(error, REFUSALS):
        # Nobody else asks for the task's exception, which would be logged then.
        if not task.cancelled():
            task.exception()
        _tell(command, error)
        _exit()


def _tell(command: str, error: BaseException) -> None:
    sys.stderr.write("".join(f"scrapy {command}: {line}\n" for line in reasons(error)))


def _exit_soon() -> None:
    asyncio.get_running_loop().call_soon(_exit)


def _exit() -> None:
    """Leave the event loop, and a command that would end with status 1 or 0."""
    raise SystemExit(WRONG)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    """Whether a record of Twisted's says more than that nobody took the failure of a crawl which was refused."""
    if record.exc_info:
        return not isinstance(record.exc_info[1], REFUSALS)
    return "Unhandled error in Deferred" not in record.getMessage()
