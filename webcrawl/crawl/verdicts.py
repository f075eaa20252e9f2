"""The verdicts of scope and robots.txt on the pages that ``shell``, ``fetch``, ``parse`` and ``view`` get one by one.

VerdictMiddleware prints the decision on each URL to standard error before it is fetched. There is no frontier: the
scheduler is Scrapy's, in memory, and nothing is stored.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response

from webcrawl.crawl.context import get_context
from webcrawl.crawl.essentials import Detached
from webcrawl.fetching.failures import failure_word
from webcrawl.fetching.lifetime import response_lifetime
from webcrawl.fetching.response_head import MAX_TYPE_BYTES
from webcrawl.fetching.transfer import is_wanted
from webcrawl.robots import answer as robots
from webcrawl.urls.politeness_key import get_origin
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.politeness.host_record import RobotsRecord


FORCE = "VERDICT_FORCED"
"""A setting that these commands make: True to fetch URLs that are refused."""


class PlainScheduler(Scheduler, Detached):
    """Scrapy's scheduler, in memory: there is no frontier, and so no lease for a request."""

    def in_flight_request(self, request: Request) -> None:
        """Return None: the middlewares look up the lease of a request here, and there is none."""


ROBOTS = "verdict_robots"
"""The key in ``meta`` of the requests for robots.txt that are made here."""

refused = object()
"""The signal that is sent when a request is refused."""


class VerdictMiddleware:
    """Prints both verdicts for each URL that is fetched, redirect targets too, and refuses the request if they do.

    robots.txt is requested once for each origin, since these commands are short. URLs of other schemes (a local file,
    a data URL) are not checked.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._forced = crawler.settings.getbool(FORCE)
        self._records: dict[str, RobotsRecord] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> VerdictMiddleware:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        url = self._context().intake.schemes.resolve(request.url, "about:blank")
        if ROBOTS in request.meta or url is None:
            return
        scope, of_links = self._scope(url, redirected="redirect_times" in request.meta)
        verdict = await self._robots(url) if scope is None or self._forced else None
        words = "in scope" if scope is None else f"out of scope ({scope})"
        if scope is None and of_links is not None:
            words += f" as a Request; links to it are refused ({of_links})"
        if verdict is not None:
            words += f"; {verdict.reason}"
        _say(f"{url}: {words}")
        if scope is None and verdict is not None and verdict.allowed:
            return
        if not self._forced:
            _say("not fetched; --force fetches it all the same")
            self._crawler.signals.send_catch_log(refused, request=request)
            raise IgnoreRequest(f"{url} is refused")

    def process_response(self, request: Request, response: Response) -> Response:
        content_type = (response.headers.get("Content-Type") or b"")[:MAX_TYPE_BYTES]
        wanted = self._context().configuration.mime_types_wanted
        if (
            ROBOTS not in request.meta
            and 200 <= response.status < 300
            and not is_wanted(content_type, wanted)
        ):
            _say(
                f"{response.url}: a crawl reads its body for a Request, not for a link: "
                f"{content_type.decode('latin-1')} is not in MIME_TYPES_WANTED"
            )
        return response

    def _scope(self, url: str, *, redirected: bool) -> tuple[str | None, str | None]:
        """Return the rules that put the URL out of scope for a spider's own Request and for a link of a page; None if
        it is in scope.
        """
        context = self._context()
        if not redirected:
            context.seeded.allow(url)
        as_request = context.intake.request_entry(url, "GET", b"", 0, None, 0, followed=True)
        as_link = context.intake.link_entry(url, 0, None)
        return (
            as_request if isinstance(as_request, str) else None,
            as_link if isinstance(as_link, str) else None,
        )

    def _context(self) -> CrawlContext:
        return get_context(self._crawler)

    async def _robots(self, url: str) -> robots.RobotsVerdict:
        context = self._context()
        origin = get_origin(url)
        robots_url = context.intake.schemes.robots_url(origin)
        if robots_url is None:
            return robots.RobotsVerdict(True, "the scheme has no robots.txt")
        now = time.time()
        record = self._records.get(origin)
        if not robots.is_fresh(record, now):
            record = self._records[origin] = await self._fetched(origin, robots_url, record)
        rules = context.rules.rules(record) if record is not None else None
        return robots.may_fetch(record, rules, url, now)

    async def _fetched(self, origin: str, robots_url: str, previous: RobotsRecord | None) -> RobotsRecord:
        """Request the robots.txt of the origin at its URL, following as many redirects as the crawl does; return the
        record.
        """
        configuration = self._context().configuration
        url: str | None = robots_url
        for _ in range(configuration.robots_max_redirects + 1):
            if url is None:
                break
            meta = {ROBOTS: True, "handle_httpstatus_all": True, "dont_redirect": True}
            try:
                response = await self._crawler.engine.download_async(
                    Request(url, meta=meta, dont_filter=True)
                )
            except Exception as error:
                _say(f"{url}: {failure_word(error)} ({str(error).removeprefix(f'{url}: ')})")
                break
            if not 300 <= response.status < 400:
                return self._answered(origin, response, previous)
            url = resolve((response.headers.get("Location") or b"").decode("utf-8", "replace"), url)
        absence = self._context().policies.robots.absence
        return robots.unreachable(origin, previous, time.time(), absence=absence)

    def _answered(self, origin: str, response: Response, previous: RobotsRecord | None) -> RobotsRecord:
        configuration = self._context().configuration
        return robots.answered(
            origin,
            response.status,
            response.body,
            time.time(),
            agents=configuration.product_tokens,
            previous=previous,
            ttl=configuration.robots_ttl_seconds,
            ttl_min=configuration.robots_ttl_min_seconds,
            fresh_seconds=response_lifetime(response),
            max_bytes=configuration.robots_max_bytes,
            absence=self._context().policies.robots.absence,
        )


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
