"""``scrapy check``: Scrapy's check of spider contracts, in which a page that was not fetched is a failure.

The pages are fetched as in a crawl: scope, robots.txt and the clocks of their sites apply. The crawl is kept in
memory and leaves no files. Exit status 0: all contracts hold; 1: one does not, a page was not fetched, or there is
nothing to check; 2: a setting is wrong.
"""

from __future__ import annotations

import sys
import time
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest import TestCase, TextTestRunner

from scrapy import signals
from scrapy.commands import check
from scrapy.contracts import ContractsManager
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object, set_environ

from webcrawl import addon
from webcrawl.config import check as problems_of
from webcrawl.crawl.arguments import own_names
from webcrawl.errors import Problem
from webcrawl.refusal import Refused
from webcrawl.storage import TRANSIENT
from webcrawl.terminal import complain, refuse, strange_words

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

_WITHOUT_FILES: dict[str, Any] = {
    "FRONTIER_BACKEND": TRANSIENT,
    "JOBDIR": None,
    "WARC_ENABLED": False,
    "PROGRESS_DISPLAY": "off",
    "STATISTICS_INTERVAL_SECONDS": 0,
    "PROGRESS_LOG_SECONDS": 0,
    "CHECKPOINT_INTERVAL": 0,
    "FRONTIER_PATIENCE_SECONDS": 0,
}
_SUMMARY = "webcrawl.extensions.summary.Summary"


class NotFetched(TestCase):
    """A contract whose callback was not called."""

    def __init__(self, spider: str, method: str) -> None:
        super().__init__("runTest")
        self._name = f"[{spider}] {method} (page not fetched)"

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        """Do nothing: the result is known."""

    def __str__(self) -> str:
        return self._name


class SpiderContracts:
    """The contracts of one spider: its requests, and which of their callbacks were called."""

    def __init__(self, spider: type[Spider], methods: list[str]) -> None:
        self.name = str(spider.name)
        self.waiting: dict[str, Request | None] = dict.fromkeys(methods)
        """The methods with contracts whose callback was not called yet, each with its request."""
        self.begun = False

    def watch(self, method: str, request: Request) -> Request:
        """Have the method taken out of ``waiting`` when the request has a result."""
        self.waiting[method] = request
        if request.callback is not None:
            request.callback = self._noting(method, request.callback)
        if request.errback is not None:
            request.errback = self._unless_refused(self._noting(method, request.errback))
        return request

    @staticmethod
    def _unless_refused(errback: Callable[[Failure], Any]) -> Callable[[Failure], Any]:
        """Return an errback that is not called with a refusal, which is reported with its reason at the end."""

        @wraps(errback)
        def of_failures(failure: Failure) -> Any:
            return None if isinstance(failure.value, Refused) else errback(failure)

        return of_failures

    def _noting(self, method: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def noting(*args: Any, **named: Any) -> Any:
            self.waiting.pop(method, None)
            return call(*args, **named)

        return noting


class Command(check.Command):
    requires_project = True

    def short_desc(self) -> str:
        return "Check spider contracts; a page that is not fetched is a failure"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        known = own_names(opts, self.settings).union(self.settings)
        super().process_options(args, opts)
        addon.complete_if_used(self.settings)
        problems = [*strange_words("check", args)]
        problems += problems_of(self.settings, [item.partition("=")[0] for item in opts.set], known)
        if problems:
            refuse("check", problems)
        self.settings.setdict(_WITHOUT_FILES, priority="cmdline")
        self.settings["EXTENSIONS_BASE"].set(_SUMMARY, None, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.list:
            super().run(args, opts)
            return
        assert self.settings is not None
        assert self.crawler_process is not None
        names = self.crawler_process.spider_loader.list()
        if unknown := [name for name in args if name not in names]:
            hint = f"there are {', '.join(sorted(names)) or 'none'}"
            self.exitcode = complain("check", [Problem(name, f"is no spider; {hint}") for name in unknown])
            return
        contracts = ContractsManager(map(load_object, _contracts(self.settings)))
        runner = TextTestRunner(verbosity=2 if opts.verbose else 1)
        result = check.TextTestResult(runner.stream, runner.descriptions, runner.verbosity)
        spiders_checked: list[tuple[SpiderContracts, Crawler]] = []
        with set_environ(SCRAPY_CHECK="true"):
            for name in args or names:
                spider = self.crawler_process.spider_loader.load(name)
                if methods := contracts.tested_methods_from_spidercls(spider):
                    checked = SpiderContracts(spider, methods)
                    spider.start = _start(contracts, checked, result)  # type: ignore[method-assign, assignment]
                    crawler = self.crawler_process.create_crawler(spider)
                    crawler.signals.connect(
                        _Closed(checked, crawler, result), signal=signals.spider_closed, weak=False
                    )
                    spiders_checked.append((checked, crawler))
                    self.crawler_process.crawl(crawler, **opts.spargs)
            began = time.monotonic()
            self.crawler_process.start()
            ended = time.monotonic()
        for checked, _ in spiders_checked:
            if not checked.begun:
                _fail(
                    result, checked, dict.fromkeys(checked.waiting, "the crawl of the spider did not begin")
                )
        if spiders_checked:
            result.printErrors()
            result.printSummary(began, ended)
        else:
            sys.stderr.write("scrapy check: there are no contracts to check\n")
        self.exitcode = int(
            not (spiders_checked and result.wasSuccessful()) or self.crawler_process.bootstrap_failed
        )


class _Closed:
    """Tells at the end of a spider's crawl why pages were not fetched."""

    def __init__(self, checked: SpiderContracts, crawler: Crawler, result: check.TextTestResult) -> None:
        self._checked = checked
        self._crawler = crawler
        self._result = result

    def __call__(self) -> None:
        _fail(
            self._result,
            self._checked,
            {
                method: "it has no @url" if request is None else _reason(request, self._crawler)
                for method, request in self._checked.waiting.items()
            },
        )


def _contracts(settings: BaseSettings) -> list[Any]:
    return build_component_list(settings.get_component_priority_dict_with_base("SPIDER_CONTRACTS"))


def _start(
    contracts: ContractsManager, checked: SpiderContracts, result: check.TextTestResult
) -> Callable[[Spider], AsyncIterator[Any]]:
    """Return the method ``start`` of a spider that yields the requests of its contracts."""

    async def start(spider: Spider) -> AsyncIterator[Any]:
        checked.begun = True
        for method in list(checked.waiting):
            try:
                request = contracts.from_method(getattr(spider, method), result)
            except Exception:
                checked.waiting.pop(method)
                result.addError(NotFetched(checked.name, method), sys.exc_info())
                continue
            if request is not None:
                yield checked.watch(method, request)

    return start


def _reason(request: Request, crawler: Crawler) -> str:
    """Return why a request has no result."""
    # Scrapy imports all commands at each start.
    from webcrawl.crawl.context import get_context
    from webcrawl.extensions.metrics_reader import get_frontier
    from webcrawl.reports.summary import ADVICE

    verdict = get_context(crawler).intake.request_entry(
        request.url, request.method, request.body, 0, None, 0, False
    )
    frontier = get_frontier(crawler)
    rules: list[str] = [verdict] if isinstance(verdict, str) else []
    if not rules and frontier is not None:
        rules = [*frontier.tally.errors, *frontier.tally.refused_by_rule]
    why = " or ".join(rules) or "no response"
    advice = "; ".join(dict.fromkeys(ADVICE[rule] for rule in rules if rule in ADVICE))
    return f"{request.url}: {why}" + (f" ({advice})" if advice else "")


def _fail(result: check.TextTestResult, checked: SpiderContracts, reasons: dict[str, str]) -> None:
    for method, reason in reasons.items():
        error = AssertionError(f"not fetched, {reason}")
        result.addFailure(NotFetched(checked.name, method), (AssertionError, error, None))  # type: ignore[arg-type]
