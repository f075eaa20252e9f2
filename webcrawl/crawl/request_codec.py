"""Ordinary Requests as text, so that they survive a restart without pickle, and as entries of the frontier.

A link of a page needs no text at all. Of a spider's own Request all plain data is kept: the names of
callback and errback (methods of the spider), cb_kwargs, meta, headers, method, body, cookies, flags. Other values (an
open file in meta, a lambda as callback) can be kept only in this process's memory, and on a crawl that several
processes share not at all.
"""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakValueDictionary

from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from webcrawl.fetching import meta
from webcrawl.fetching.meta import detach, fetch_meta
from webcrawl.frontier import robots_requests as requests
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.plain_values import LOST, found_as, plain, plain_from, plain_items
from webcrawl.robots.text import product_token

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from webcrawl.frontier.intake import Intake


_OWN_META = frozenset(
    {meta.KEY, "depth", "download_slot", "download_latency", "verbatim_url", "redirect_times", "retry_times"}
)
"""Keys of ``meta`` that the crawl sets itself and does not restore from a stored Request."""


CONDITIONS = (b"If-None-Match", b"If-Modified-Since")
"""The header fields for the last two known values of a page: its ETag and its Last-Modified."""


EXPLICIT = '{"explicit":true}'
"""The text of a spider's own Request whose URL is all of its data."""


_USER_AGENT = base64.b64encode(b"User-Agent").decode("ascii")
"""The name of the header field as it stands in a text."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A Request as text. ``lost`` names the values that could not be encoded, e.g. ``meta['file']``; empty if all
    could.
    """

    payload: str | None
    lost: tuple[str, ...] = ()


def encode(request: Request, spider: Spider) -> Encoded:
    """Return the text from which ``decode`` restores the Request; payload None if its URL is enough. Never raises."""
    lost: list[str] = []
    fields = {name: value for name, value in _fields(request, spider, lost) if value and value is not LOST}
    if not fields and not lost:
        return Encoded(None)
    return Encoded(_text(fields), tuple(lost))


def with_token(payload: str, token: str) -> str:
    """Return ``payload`` with a token by which this process finds the Request itself, for as long as it lives."""
    return _text({**_loaded(payload), "token": token})


def read_token(payload: str) -> str:
    """Return the token in ``payload``; empty if there is none."""
    return str(_facts(payload).get("token", "")) if '"token":' in payload else ""


def with_revisit(payload: str | None, known: list[Any]) -> str:
    """Return ``payload`` with the known values of a page that is revisited, plain values."""
    return _text({**_loaded(payload or "{}"), "revisit": known})


def read_revisit(payload: str | None) -> list[Any] | None:
    """Return the values that ``with_revisit`` added to ``payload``; None if it is no revisit."""
    known = _facts(payload).get("revisit") if payload and '"revisit":' in payload else None
    return known if isinstance(known, list) else None


def is_explicit(payload: str | None) -> bool:
    """Return True for a Request that a spider made itself, False for a link of a page, revisited or not."""
    return payload is not None and _facts(payload).keys() != {"revisit"} and payload != "{}"


def may_have_errback(entry: UrlEntry) -> bool:
    """Return False if the Request of an entry certainly has no errback; one that is kept in memory may have."""
    payload = entry.payload
    return payload is not None and ('"errback":' in payload or '"token":' in payload)


def proxy_payload(entry: UrlEntry) -> str | None:
    """Return the text of a Request that has only the proxy of an entry; None if the entry names none in ``meta``."""
    if entry.payload is None or '"proxy":' not in entry.payload:
        return None
    fields = _facts(entry.payload)
    try:
        if not (proxy := fields.get("meta", {}).get("proxy")):
            return None
        headers = [
            pair for pair in plain_from(fields.get("headers", [])) if pair[0] == b"Proxy-Authorization"
        ]
    except (AttributeError, TypeError, LookupError, ValueError):
        return None  # it is no request: the fetch itself will say so
    return _text({"meta": {"proxy": proxy}, "headers": plain(headers, "headers", [])})


def request_agent(entry: UrlEntry) -> str | None:
    """Return the product token of the User-Agent that the Request of an entry sets; None if it sets none."""
    if entry.kind == Kind.ROBOTS or entry.payload is None or _USER_AGENT not in entry.payload:
        return None
    for name, value in plain_from(json.loads(entry.payload).get("headers", [])):
        if name == b"User-Agent":
            return product_token(value.decode("latin-1"))
    return None


def how_sent(entry: UrlEntry) -> str | None:
    """Return the text of a Request that has only what ``proxy_payload`` and ``request_agent`` read in that of an
    entry; None if that is nothing.
    """
    fields = json.loads(proxy_payload(entry) or "{}")
    if request_agent(entry) is not None:
        pairs = plain_from(json.loads(entry.payload or "{}")["headers"])
        kept = [pair for pair in pairs if pair[0] in (b"User-Agent", b"Proxy-Authorization")]
        fields["headers"] = plain(kept, "headers", [])
    return _text(fields) if fields else None


def is_repeatable(payload: str) -> bool:
    """Return True if the Request may be repeated at any time: a GET, no part of which is only in this process's
    memory.
    """
    fields = _facts(payload)
    return bool(fields) and not fields.keys() & {"token", "method", "body"}


def without_revisit(payload: str | None) -> str | None:
    """Return ``payload`` as it was before ``with_revisit``."""
    fields = _loaded(payload or "{}")
    fields.pop("revisit", None)
    return _text(fields) if fields else None


def decode(url: str, payload: str, spider: Spider, repeat: bool) -> Request:
    """Restore the Request that ``encode`` encoded. :raises ValueError: it does not fit the current code; says why"""
    try:
        return _build_request(url, _loaded(payload), spider, repeat)
    except (
        TypeError,
        LookupError,
        ImportError,
        NameError,
        AttributeError,
        RecursionError,
        ArithmeticError,
    ) as error:
        raise ValueError(f"a stored request cannot be made again: {error}") from error


def _loaded(payload: str) -> dict[str, Any]:
    """Return the fields of a stored Request. :raises ValueError: it is none"""
    try:
        fields = json.loads(payload)
    except RecursionError as error:
        raise ValueError("a stored request cannot be read: it is nested too deep") from error
    if not isinstance(fields, dict):
        raise ValueError(f"a stored request cannot be read: it is a {type(fields).__name__} and no object")
    return fields


def _facts(payload: str) -> dict[str, Any]:
    """Return the fields of a stored Request, none if it cannot be read: ``decode`` says why."""
    try:
        return _loaded(payload)
    except ValueError:
        return {}


def _build_request(url: str, fields: dict[str, Any], spider: Spider, repeat: bool) -> Request:
    request_class = load_object(fields["class"]) if "class" in fields else Request
    if not (isinstance(request_class, type) and issubclass(request_class, Request)):
        raise TypeError(f"{fields['class']} is no class of requests")
    known = plain_from(fields.get("meta", {}))
    headers = [*plain_from(fields.get("headers", [])), *_conditions(fields.get("revisit"))]
    request: Request = request_class(
        url,
        callback=_method(spider, fields.get("callback")),
        errback=_method(spider, fields.get("errback")),
        method=fields.get("method", "GET"),
        headers=headers,
        body=plain_from(fields.get("body")),
        cookies=plain_from(fields.get("cookies")),
        meta={**known, "verbatim_url": True},
        encoding=fields.get("encoding", "utf-8"),
        priority=fields.get("priority", 0),
        dont_filter=repeat or "dont_filter" in fields,
        flags=plain_from(fields.get("flags")),
        cb_kwargs=plain_from(fields.get("cb_kwargs")),
        **plain_from(fields.get("own", {})),
    )
    return request


def _conditions(known: list[Any] | None) -> list[tuple[bytes, bytes]]:
    """Return the header fields of a conditional request for a page (RFC 9110, section 13.1)."""
    if known is None:
        return []
    values = zip(CONDITIONS, known[-2:], strict=True)
    return [(name, str(value).encode("latin-1")) for name, value in values if value]


def _text(fields: dict[str, Any]) -> str:
    # Escapes make lone surrogates encodable.
    return json.dumps(fields, separators=(",", ":"))


def _fields(request: Request, spider: Spider, lost: list[str]) -> list[tuple[str, Any]]:
    kept_meta = {name: value for name, value in request.meta.items() if name not in _OWN_META}
    headers = [(name, value) for name, values in request.headers.items() for value in values]
    own = {name: getattr(request, name) for name in request.attributes if name not in Request.attributes}
    return [
        ("class", _class_name(request, lost)),
        ("callback", _name(request.callback, spider, "callback", lost)),
        ("errback", _name(request.errback, spider, "errback", lost)),
        ("method", None if request.method == "GET" else request.method),
        ("headers", plain(headers, "headers", lost)),
        ("body", plain(request.body, "body", lost) if request.body else None),
        ("cookies", plain(request.cookies, "cookies", lost)),
        ("meta", plain_items(kept_meta, "meta", lost)),
        ("cb_kwargs", plain_items(request.cb_kwargs, "cb_kwargs", lost)),
        ("own", plain_items({name: value for name, value in own.items() if value}, "attributes", lost)),
        ("encoding", None if request.encoding == "utf-8" else request.encoding),
        ("flags", plain(list(request.flags), "flags", lost)),
        ("priority", request.priority),
        ("dont_filter", request.dont_filter),
    ]


def _class_name(request: Request, lost: list[str]) -> str | None:
    """Return the name by which the Request's class can be imported; None for Request itself and for a class that
    cannot.
    """
    request_class = type(request)
    if request_class is Request:
        return None
    name = found_as(request_class)
    if name is None:
        lost.append(f"class {global_object_name(request_class)}")
    return name


def _name(function: Callable[..., Any] | None, spider: Spider, what: str, lost: list[str]) -> str | None:
    if function is None or function is NO_CALLBACK:
        return None
    name = getattr(function, "__name__", "")
    if getattr(function, "__self__", None) is spider and getattr(spider, name, None) == function:
        return str(name)
    lost.append(f"{what} {getattr(function, '__qualname__', None) or type(function).__name__}")
    return None


def _method(spider: Spider, name: str | None) -> Any:
    if name is None:
        return None
    method = getattr(spider, name, None)
    if method is None:
        raise ValueError(f"the spider {spider.name} has no method {name} any more")
    return method


UNWRITABLE = "unwritable"
"""The rule that refuses Requests which another process could not restore."""
SHOWN = 20
"""The number of different reasons for it that are logged."""

logger = logging.getLogger(__name__)


class RequestSerializer:
    """Turns the Requests of a spider into entries, and entries into Requests.

    Values that cannot be encoded are kept in this process, and found by a token. If several processes share a crawl
    any of them may have to restore the Request, so it is refused.
    """

    def __init__(self, intake: Intake, spider: Spider, *, is_shared: bool) -> None:
        """``is_shared``: several processes share the crawl."""
        self._intake = intake
        self._spider = spider
        self._shared = is_shared
        self._carried: dict[str, Request] = {}
        self._given: WeakValueDictionary[int, Request] = WeakValueDictionary()
        """The encoded Requests that came from no page, by fingerprint, while their owner keeps them: Scrapy's shell
        gives one to the engine, and then sets its callback."""
        self.has_errbacks = False
        """True if a Request with an errback was queued by this process."""
        self._logged: set[tuple[str, ...]] = set()

    # -- in --------------------------------------------------------------------------------------------------

    def entry(self, request: Request) -> UrlEntry | str:
        """Return the entry of a Request that is to be queued, or the rule that refuses it."""
        is_explicit = not fetch_meta(request).is_link
        facts = detach(request)
        redirects = _counted(request.meta.get("redirect_times"))
        depth = int(request.meta.get("depth", facts.depth))
        follows = facts.via is not None or redirects > 0
        entry = self._intake.request_entry(
            request.url,
            request.method,
            request.body,
            depth,
            facts.via,
            redirects,
            follows,
            is_explicit,
            facts.embed_hops,
        )
        if isinstance(entry, str):
            return entry
        encoded = encode(request, self._spider)
        entry.payload = (encoded.payload or EXPLICIT) if is_explicit else None
        self.has_errbacks = self.has_errbacks or request.errback is not None
        entry.level = request.priority
        entry.repeat = request.dont_filter
        # Scrapy's get_retry_request stores its count here, and stops by it.
        entry.attempts = _counted(request.meta.get("retry_times"))
        if self._shared and not follows and request.meta.get("is_start_request"):
            # Every process runs the spider's start, and Scrapy's own start sets dont_filter.
            entry.repeat = False
        if not encoded.lost:
            if not follows and is_explicit:
                self._given[entry.fingerprint] = request
            return entry
        if self._shared:
            self._log_dropped(request, encoded.lost)
            return UNWRITABLE
        self._carry(request, entry, encoded.lost)
        return entry

    def _carry(self, request: Request, entry: UrlEntry, lost: tuple[str, ...]) -> None:
        if not self._logged:
            self._logged.add(lost)
            logger.warning(
                "%s holds values that cannot be serialized and is lost when this process ends: %s. "
                "This is logged once; other requests may be the same",
                request,
                ", ".join(lost),
            )
        token = uuid4().hex
        entry.payload = with_token(entry.payload or "{}", token)
        self._carried[token] = request

    def _log_dropped(self, request: Request, lost: tuple[str, ...]) -> None:
        """Log each value that cannot be encoded once: the spider has to be changed."""
        if lost not in self._logged and len(self._logged) < SHOWN:
            self._logged.add(lost)
            logger.error(
                "%s is dropped: it holds values that cannot be serialized for the other workers of the crawl: %s. "
                "Callbacks must be methods of the spider, values plain data or items; "
                "see docs/guides/spiders.md",
                request,
                ", ".join(lost),
            )

    # -- out -------------------------------------------------------------------------------------------------

    def request(self, entry: UrlEntry) -> Request:
        """Return the Request of an entry. :raises ValueError: it cannot be restored; says why"""
        if entry.kind == Kind.ROBOTS and (route := requests.proxy_route(entry)) is not None:
            return decode(entry.url, route, self._spider, entry.repeat)
        if entry.payload is None or entry.kind == Kind.ROBOTS:
            return Request(entry.url, meta={"verbatim_url": True}, dont_filter=entry.repeat)
        carried = self._carried.get(read_token(entry.payload))
        if carried is None and (kept := self._given.get(entry.fingerprint)) is not None:
            # What it was when it came is stored; what it has become since is not.
            carried = kept if encode(kept, self._spider).lost else None
        return carried or decode(entry.url, entry.payload, self._spider, entry.repeat)

    def done(self, entry: UrlEntry) -> None:
        """Release the Request of an entry, which was processed and is not tried again."""
        if entry.payload:
            self._carried.pop(read_token(entry.payload), None)


def _counted(value: object) -> int:
    """Return a number that a spider may have overwritten, 0 if it is invalid."""
    return max(value, 0) if isinstance(value, int) else 0
