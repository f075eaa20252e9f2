"""What the crawl carries along with a Request, under one key of ``Request.meta``.

Nothing else in the project writes business data into ``meta``: every part that needs a fact about a fetch
reads it here, typed. The keys that Scrapy defines itself (``proxy``, ``download_timeout``, ...) keep their
meaning and their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.robots.page_directives import NOTHING, RobotsTags
from webcrawl.storage.contract import FOREVER, LeaseValidity

if TYPE_CHECKING:
    from scrapy import Request

    from webcrawl.archive.capture import Capture
    from webcrawl.archive.listed_links import SpooledLinks
    from webcrawl.fetching.body_memory import BodyAccount
    from webcrawl.scope.exclusion import ExclusionList

KEY = "webcrawl"
"""The key of ``Request.meta`` that holds a ``FetchMeta``."""


@dataclass(slots=True)
class FetchMeta:
    """The crawl's facts about one request.

    ``Request.replace()`` and ``Request.copy()`` copy ``meta`` shallowly, so the copy shares this object with
    its original until one of the two is fetched or queued: ``begin_fetch`` and ``detach`` end the sharing.
    """

    lease_id: int | None = None
    """The frontier's lease that this request settles; None when the frontier knows nothing of it."""
    kind: str = "page"
    """A value of ``frontier.records.Kind``."""
    key: str | None = None
    """The politeness key."""
    depth: int = 0
    via: str | None = None
    """The page that led here."""
    wanted: tuple[str, ...] | None = None
    """MIME types whose bodies are read (``text/html``, ``text/*``) with a 2xx status; None for all."""
    maxsize: int | None = None
    """Bytes after which the body is cut; 0 for no limit, None for the setting ``DOWNLOAD_MAXSIZE``."""
    capture: Capture | None = None
    """What went over the wire; set by the download handler, also for a fetch that failed."""
    decode_error: str | None = None
    """Why the content coding could not be removed; None when it could or when there is none."""
    original: str | None = None
    """The URL that had the same body before, or the same main text; None when that is not so, or was not asked."""
    original_by_text: bool = False
    """Its body was another one."""
    text_digest: bytes | None = None
    """Sixteen bytes that stand for its main text; empty where there is none, None when nobody has asked."""
    robots_tags: RobotsTags = NOTHING
    """What the response's ``X-Robots-Tag`` asks of us."""
    hold: LeaseValidity = FOREVER
    """How long the key may be contacted; over, another process may be at it."""
    place: str | None = None
    """The address at which alone the host may be contacted, since its clock is ours; empty for none, None for any."""
    pause_seconds: float = 0.0
    """What lies between two requests to the key."""
    exclusions: ExclusionList | None = None
    """Asked once more when the connection stands and the request is about to be sent; None when there is no list."""
    sent_under: str | None = None
    """The version of that list when it was asked, and had no objection; set by the download handler."""
    spool: str | None = None
    """The folder for its payload if that is long, and is to be read from a file; None to hold it in memory."""
    account: BodyAccount | None = None
    """What its body takes of the memory for bodies; set by the download handler."""
    listed: SpooledLinks | None = None
    """What a long sitemap lists, in a file; set by the middleware that reads it."""
    held_seconds: float = 0.0
    """How long its body was not read for lack of that memory, which is no fault of the host."""

    def let_go(self) -> None:
        """Its body is needed no more."""
        if self.account is not None:
            self.account.release()
        if self.capture is not None and self.capture.spooled is not None:
            self.capture.spooled.remove()
        if self.listed is not None:
            self.listed.remove()


def fetch_meta(request: Request) -> FetchMeta:
    """The request's ``FetchMeta``, created when absent."""
    found = request.meta.get(KEY)
    if found is None:
        found = request.meta[KEY] = FetchMeta()
    if not isinstance(found, FetchMeta):
        raise TypeError(f"Request.meta[{KEY!r}] is reserved for FetchMeta, found {type(found).__name__}")
    return found


def begin_fetch(request: Request) -> FetchMeta:
    """Give the request a ``FetchMeta`` of its own, without the results of an earlier fetch.

    Called by the download handler, so that a request that is fetched again (a retry, a redirect made by
    copying) does not overwrite the capture of the response it came from.
    """
    return _own(request, fetch_meta(request).lease_id)


def detach(request: Request) -> FetchMeta:
    """Like ``begin_fetch``, and the lease is dropped too.

    For a request that is about to be queued: one lease is settled once, however often its request was copied.
    """
    return _own(request, None)


def _own(request: Request, lease_id: int | None) -> FetchMeta:
    old = fetch_meta(request)
    own = FetchMeta(lease_id, old.kind, old.key, old.depth, old.via, old.wanted, old.maxsize, hold=old.hold)
    own.exclusions, own.place, own.spool = old.exclusions, old.place, old.spool
    own.pause_seconds = old.pause_seconds
    request.meta[KEY] = own
    return own
