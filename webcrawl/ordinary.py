"""Ordinary Requests: as entries on their way into the frontier, and made again on their way out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy.http import Request

from webcrawl import request_codec
from webcrawl.frontier.backend import SharedBackend
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.meta import detach

if TYPE_CHECKING:
    from scrapy import Spider

    from webcrawl.machine import Machine

UNWRITABLE = "unwritable"
"""The rule by which Requests are refused that another process could not make again."""
SHOWN = 20
"""Different reasons for it that are logged."""

logger = logging.getLogger(__name__)


class OrdinaryRequests:
    """Turns the Requests of a spider into entries, and entries into Requests.

    What cannot be written down is carried along in this process, and found again by a token. Where several processes
    share a crawl any of them may have to make the Request, so there it is refused.
    """

    def __init__(self, machine: Machine, spider: Spider) -> None:
        self._machine = machine
        self._spider = spider
        self._shared = isinstance(machine.backend, SharedBackend)
        self._carried: dict[str, Request] = {}
        self._said: set[tuple[str, ...]] = set()

    # -- in --------------------------------------------------------------------------------------------------

    def entry(self, request: Request) -> UrlEntry | str:
        """The entry of a Request that is to be queued, or the rule that refuses it."""
        facts = detach(request)
        redirects = _counted(request.meta.get("redirect_times"))
        depth = int(request.meta.get("depth", facts.depth))
        follows = facts.via is not None or redirects > 0
        entry = self._machine.intake.request(
            request.url, request.method, request.body, depth, facts.via, redirects, follows
        )
        if isinstance(entry, str):
            return entry
        encoded = request_codec.encode(request, self._spider)
        entry.payload = encoded.payload
        entry.level = request.priority
        entry.repeat = request.dont_filter
        # Scrapy's get_retry_request counts here, and ends by it.
        entry.attempts = _counted(request.meta.get("retry_times"))
        if self._shared and not follows and request.meta.get("is_start_request"):
            # Every process runs the spider's start, and Scrapy's own asks with dont_filter.
            entry.repeat = False
        if not encoded.lost:
            return entry
        if self._shared:
            self._say_refused(request, encoded.lost)
            return UNWRITABLE
        self._carry(request, entry, encoded.lost)
        return entry

    def _carry(self, request: Request, entry: UrlEntry, lost: tuple[str, ...]) -> None:
        if not self._said:
            self._said.add(lost)
            logger.warning(
                "%s holds what cannot be written down and is lost when this process ends: %s. "
                "This is said once; other requests may be the same",
                request,
                ", ".join(lost),
            )
        token = uuid4().hex
        entry.payload = request_codec.with_token(entry.payload or "{}", token)
        self._carried[token] = request

    def _say_refused(self, request: Request, lost: tuple[str, ...]) -> None:
        """Once for each thing that cannot be written: what is wrong is the spider."""
        if lost not in self._said and len(self._said) < SHOWN:
            self._said.add(lost)
            logger.error(
                "%s is dropped: what it holds cannot be written down for the other workers of the crawl: %s. "
                "Callbacks must be methods of the spider, values plain data or items; see docs/extending.md",
                request,
                ", ".join(lost),
            )

    # -- out -------------------------------------------------------------------------------------------------

    def request(self, entry: UrlEntry) -> Request:
        """The Request behind an entry. :raises ValueError: it cannot be made again; says why."""
        if entry.payload is None or entry.kind == Kind.ROBOTS:
            return Request(entry.url, meta={"verbatim_url": True}, dont_filter=entry.repeat)
        carried = self._carried.get(request_codec.token_of(entry.payload))
        return carried or request_codec.decode(entry.url, entry.payload, self._spider, entry.repeat)

    def done(self, entry: UrlEntry) -> None:
        """The Request behind an entry was processed and is not tried again."""
        if entry.payload:
            self._carried.pop(request_codec.token_of(entry.payload), None)


def _counted(value: object) -> int:
    """A number that a spider may have written over."""
    return max(value, 0) if isinstance(value, int) else 0
