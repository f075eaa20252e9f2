"""The crawl's data about a Request, under one key of ``Request.meta``.

No other module writes the crawl's data into ``meta``: every component that needs a fact about a fetch reads it here,
typed. The keys that Scrapy defines itself (``proxy``, ``download_timeout``, ...) keep their meaning and their place.
"""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.robots.page_directives import NOTHING, RobotsTags
from webcrawl.storage.contract import FOREVER, LeaseValidity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request

    from webcrawl.archive.capture import Capture
    from webcrawl.archive.listed_links import SpooledLinks
    from webcrawl.fetching.body_memory import BodyAccount
    from webcrawl.politeness.refusals import SiteRefusal
    from webcrawl.scope.exclusion import ExclusionList

KEY = "webcrawl"
"""The key of ``Request.meta`` that holds a ``FetchMeta``."""

CURRENT: ContextVar[weakref.ref[Request] | None] = ContextVar("webcrawl.request", default=None)
"""The request for which the current task runs, from its download to its items; tasks that it starts inherit it.

A weak reference: a kept connection has the context of the request that opened it, and would hold its body.
"""


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """The first page of those with nearly the same main text, and what follows from it for a later page."""

    url: str
    cluster: str
    """Identifies the pages with the same first page: 16 hexadecimal digits."""
    resemblance: float
    """The estimated share of what both texts have in common."""
    follows_links: bool = True
    """False if the links of the page are not followed."""
    is_stored: bool = True
    """False if its body is neither archived nor processed: nothing of it reaches item pipelines and feeds."""


@dataclass(slots=True)
class FetchMeta:
    """The crawl's facts about one request.

    ``Request.replace()`` and ``Request.copy()`` copy ``meta`` shallowly, so the copy shares this object with
    its original until one of the two is fetched or queued: ``begin_fetch`` and ``detach`` end the sharing.
    """

    lease_id: int | None = None
    """The frontier's lease that this request settles; None if the request is not from the frontier."""
    kind: str = "page"
    """A value of ``frontier.records.Kind``."""
    key: str | None = None
    """The politeness key."""
    depth: int = 0
    via: str | None = None
    """The page that links to it."""
    wanted: tuple[str, ...] | None = None
    """MIME types whose bodies are read (``text/html``, ``text/*``) with a 2xx status; None for all."""
    maxsize: int | None = None
    """Bytes after which the body is cut; 0 for no limit, None for the setting ``DOWNLOAD_MAXSIZE``."""
    capture: Capture | None = None
    """The exchange as sent and received; set by the download handler, also for a fetch that failed."""
    decode_error: str | None = None
    """The reason why the content coding could not be decoded; None if it could or if there is none."""
    original: str | None = None
    """The URL that had the same body before, or the same main text; None if there is none, or it was not looked
    up.
    """
    follows_links: bool = True
    """False if the links of a page that came before under another URL are not followed."""
    text_digest: bytes | None = None
    """A digest of its main text, 16 bytes; empty if there is none, None if it was not computed."""
    text_sketch: bytes | None = None
    """A sketch of its main text; empty if the text is short, None if it was not computed."""
    near_duplicate: NearDuplicate | None = None
    """The page with nearly the same main text that came before; None if there is none, or it was not looked up."""
    robots_tags: RobotsTags = NOTHING
    """The directives in the response's ``X-Robots-Tag``."""
    usage: tuple[Any, ...] = ()
    """What is said about its use: by robots.txt and the header, and by the page's elements once these are read."""
    usage_of_page_read: bool = False
    """True once the page's elements were read for what they say about its use."""
    withheld: bool = False
    """True if it may not be used for what the crawl is for: nothing of it reaches item pipelines and feeds."""
    validity: LeaseValidity = FOREVER
    """The time during which the key may be contacted; afterwards another process may contact it."""
    place: str | None = None
    """The only address at which the host may be contacted, since this crawl holds its clock; empty for none, None for
    any.
    """
    pause_seconds: float = 0.0
    """The pause between two requests to the key."""
    exclusions: ExclusionList | None = None
    """Checked once more when the connection is open and the request is about to be sent; None if there is no list."""
    sent_under: str | None = None
    """The version of that list when it was checked without objection; set by the download handler."""
    spool: str | None = None
    """The folder for its payload if that is long, and must be read from a file; None to hold it in memory."""
    account: BodyAccount | None = None
    """Its account of the memory for bodies; set by the download handler."""
    listed: SpooledLinks | None = None
    """The URLs of a long sitemap, in a file; set by the middleware that reads it."""
    found: Sequence[tuple[str, str]] = ()
    """Links that a handler of another scheme found in the body: each a reference as written, and its text."""
    held_seconds: float = 0.0
    """Seconds during which its body was not read, because that memory was used up or because of the bandwidth limit.
    They are not counted against the host.
    """
    received_bytes: int = 0
    """Bytes on the wire, if there is a bandwidth limit."""
    reserved_bytes: float = 0.0
    """Bytes of that limit that are reserved for what has not come yet."""
    user_agent: bytes | None = None
    """The User-Agent with which it is sent: the crawl's, or that of the spider's Request; None for any."""
    url: str | None = None
    """The URL that was leased; None for any."""
    contacted: bool = False
    """True once it was given to a download handler: a response without that came from a middleware."""
    taken_by: str | None = None
    """The downloader middleware that returned another Request in its place; None if none did."""
    gives_way: Callable[[], bool] | None = None
    """Returns True if an inline request waits for the key; None if that is of no interest."""
    gave_way: bool = False
    """True if the exchange was ended for an inline request, since there was no memory for the body."""
    refusal: SiteRefusal | None = None
    """The refusal that its response is; None if it is none, or if that is not known yet."""
    is_link: bool = False
    """True for the target of a redirect of a link of a page, which is a link too and no Request of the spider. Not
    copied.
    """
    embed_hops: int = 0
    """The number of embeds in sequence that led here from a page; 0 if it is linked."""

    def let_go(self) -> None:
        """Release its body, which is not needed any more."""
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
    """Do the same as ``begin_fetch``, and remove the lease.

    For a request that is about to be queued: one lease is settled once, however often its request was copied.
    """
    return _own(request, None)


def _own(request: Request, lease_id: int | None) -> FetchMeta:
    old = fetch_meta(request)
    own = FetchMeta(
        lease_id, old.kind, old.key, old.depth, old.via, old.wanted, old.maxsize, validity=old.validity
    )
    own.exclusions, own.place, own.spool = old.exclusions, old.place, old.spool
    own.pause_seconds, own.embed_hops, own.gives_way = old.pause_seconds, old.embed_hops, old.gives_way
    own.reserved_bytes = old.reserved_bytes
    request.meta[KEY] = own
    return own
