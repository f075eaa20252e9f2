"""The refusal of a start under one of Scrapy's own commands: a line for each thing that is wrong, and status 2, as
with ``scrapy crawl`` of this project.

``scrapy runspider``, and ``scrapy crawl`` in a project with other commands, know no refusals: they log a traceback
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
from webcrawl.errors import ConfigurationError, CrawlError
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.url_rules import PatternError
from webcrawl.scope.whitelist import WhitelistError
from webcrawl.scrapy_private import forget_spider
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
"""Exceptions whose message is one line on why a crawl does not start."""

WRONG = 2
"""The exit status of a command with a wrong input."""
START_REFUSED = "start_refused"
"""The close reason of a crawl that has nothing to sum up."""
_COMMANDS = ("crawl", "runspider")
"""Scrapy's commands that run one crawl."""

_answered: WeakSet[Crawler] = WeakSet()
"""Crawlers whose refusal a command reports."""
_of_deferreds: WeakKeyDictionary[Crawler, str] = WeakKeyDictionary()
"""Crawlers that a command of Scrapy's runs without a task of its own, with the name of the command."""
_refusals: WeakKeyDictionary[Crawler, Exception] = WeakKeyDictionary()


def reasons(error: BaseException) -> Iterator[str]:
    """Yield the lines of a refusal."""
    if isinstance(error, ConfigurationError):
        yield from (str(problem) for problem in error.problems)
    else:
        yield " ".join(str(error).split())


def answered(crawler: Crawler) -> None:
    """Note that the command that runs ``crawler`` reports a refusal itself."""
    _answered.add(crawler)


def answer(crawler: Crawler) -> None:
    """Have one of Scrapy's own commands report why ``crawler`` is refused, if it is. No effect elsewhere."""
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
    """Have refusals within reported as by ``answer``."""
    answer(crawler)
    try:
        yield
    except REFUSALS as error:
        refused(crawler, error)
        raise


def refused(crawler: Crawler, error: Exception) -> None:
    """Note that ``crawler`` does not start because of ``error``, which is raised after this."""
    if _refusals.setdefault(crawler, error) is error and crawler in _of_deferreds:
        _tell(_of_deferreds[crawler], error)
        # The failure of such a crawl is not handled anywhere: Twisted would log its traceback.
        globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)
        logging.getLogger("twisted").addFilter(_is_no_refusal)


def closing(crawler: Crawler, error: Exception) -> CloseSpider:
    """Return the exception that closes a crawl that has begun and is refused for the input of its spider."""
    refused(crawler, error)
    if crawler not in _answered:
        logger.error("The crawl cannot start: %s", "; ".join(reasons(error)))
    elif crawler in _of_deferreds:
        crawler.signals.connect(_exit_soon, signal=signals.engine_stopped)
    return CloseSpider(START_REFUSED)


def get_refusal(crawler: Crawler) -> Exception | None:
    """Return why ``crawler`` was refused; None if it was not."""
    return _refusals.get(crawler)


def let_go(engine: ExecutionEngine) -> None:
    """Have the engine forget a spider whose start was refused.

    It would close the spider as if it had been open, and log the failures on the way.
    """
    forget_spider(engine)


def _own_command() -> str | None:
    """Return the name of Scrapy's own command that is being run, found on the stack."""
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
    error = get_refusal(crawler) or (None if task.cancelled() else task.exception())
    if isinstance(error, REFUSALS):
        # The task's exception would be logged if it were never read.
        if not task.cancelled():
            task.exception()
        _tell(command, error)
        _exit()
    elif error is not None:
        # Reading the task's exception has kept it from being logged: a part that cannot be created, for example.
        logger.critical("The crawl could not start", exc_info=error)


def _tell(command: str, error: BaseException) -> None:
    sys.stderr.write("".join(f"scrapy {command}: {line}\n" for line in reasons(error)))


def _exit_soon() -> None:
    asyncio.get_running_loop().call_soon(_exit)


def _exit() -> None:
    """Leave the event loop, and a command that would end with status 1 or 0."""
    raise SystemExit(WRONG)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    """Return True if a record of Twisted's is more than the unhandled failure of a crawl that was refused."""
    if record.exc_info:
        return not isinstance(record.exc_info[1], REFUSALS)
    return "Unhandled error in Deferred" not in record.getMessage()
