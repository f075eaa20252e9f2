"""Focused crawling, wired: every fetched page is judged, and its line of the log says how relevant it is."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from webcrawl import anticipated
from webcrawl.focus.judge import Function, clamped, judge_of
from webcrawl.focus.page import FetchedPage
from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from scrapy.http import Response

    from webcrawl.configuration import Configuration
    from webcrawl.focus.judge import Judge
    from webcrawl.frontier.lease import Outcome
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.items import Page

logger = logging.getLogger(__name__)

WORD = "relevance"
"""What a page's relevance is called in the log, and under which errors of its judge are in errors.log."""
_DIGITS = 4


class Focusing:
    """Says of the pages of one crawl how relevant they are."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._thread: ThreadPoolExecutor | None = None

    async def page(self, page: Page, response: Response) -> float:
        """How relevant a page is, 0..1; that of one which came under another URL before is 0, and so is that of one
        of which its judge cannot say it."""
        if page.duplicate_of is not None:
            return 0.0
        seen = FetchedPage(
            page.url,
            page.mime or "",
            page.title or "",
            page.depth,
            page.fields,
            response.body,
            page.encoding,
        )
        try:
            if not self._judge.is_slow:
                return clamped(self._judge.relevance(seen))
            found = await asyncio.get_running_loop().run_in_executor(
                self._own_thread(), self._judge.relevance, seen
            )
            return clamped(found)
        except Exception as error:  # whatever a function of the operator's raises is an error of this page
            detail = f"{type(error).__name__}: {error}"
            anticipated.note(WORD, page.url, via=page.via, detail=detail)
            return 0.0

    def settled(self, entry: UrlEntry, outcome: Outcome) -> None:
        """A URL is done. What was fetched and is no page that a spider reads has its type and its address alone."""
        kept = outcome.entry
        if kept is None or entry.kind != Kind.PAGE or WORD in kept.record.extra:
            return
        status = kept.record.status or 0
        if 200 <= status < 300 and "duplicate_of" not in kept.record.extra:
            bare = FetchedPage(entry.url, kept.record.mime or "", depth=entry.depth)
            found = 0.0 if self._judge.is_slow else clamped(self._judge.relevance(bare))
            tell(outcome, found)

    def close(self) -> None:
        """Let go of the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _own_thread(self) -> ThreadPoolExecutor:
        if self._thread is None:
            # One: a judge that remembers what it saw is not asked twice at a time.
            self._thread = ThreadPoolExecutor(1, "relevance")
        return self._thread


def tell(outcome: Outcome, relevance: float) -> None:
    """Have the log say how relevant a page is."""
    if outcome.entry is not None:
        outcome.entry.record.extra[WORD] = round(relevance, _DIGITS)


def focusing_of(configuration: Configuration, spider: object) -> Focusing | None:
    """What is looked for: the spider's argument ``focus``, or else its method ``relevance``, or else the setting.
    None where a crawl takes what comes. :raises FocusError: the argument is none
    """
    argued = getattr(spider, "focus", None)
    method = getattr(spider, "relevance", None)
    if isinstance(argued, str) and argued:
        return Focusing(judge_of(argued))
    if callable(method):
        return Focusing(Function(method))
    return Focusing(judge_of(configuration.focus)) if configuration.focus else None
