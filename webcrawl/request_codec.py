"""Ordinary Requests as text, so that they survive a restart without pickle.

A Request that says no more than its URL needs no text at all. Of any other, everything that is plain data is
kept: the names of callback and errback (methods of the spider), cb_kwargs, meta, headers, method, body,
cookies, flags. What is no plain data (an open file in meta, a lambda as callback) can be carried only in this
process's memory.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from scrapy.http import Request
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from webcrawl import meta

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Spider

_OWN_META = frozenset(
    {meta.KEY, "depth", "download_slot", "download_latency", "verbatim_url", "redirect_times", "retry_times"}
)
"""What the crawl sets itself and does not read back from a stored Request."""
_TAG = "$"


@dataclass(frozen=True, slots=True)
class Encoded:
    """A Request as text. ``lost`` names what could not be written, e.g. ``meta['file']``; empty when all
    could.
    """

    payload: str | None
    lost: tuple[str, ...] = ()


def encode(request: Request, spider: Spider) -> Encoded:
    """The text from which ``decode`` makes the Request again; payload None when its URL says it all. Never
    raises.
    """
    lost: list[str] = []
    fields = {name: value for name, value in _fields(request, spider, lost) if value and value is not _LOST}
    if not fields and not lost:
        return Encoded(None)
    return Encoded(_text(fields), tuple(lost))


def with_token(payload: str, token: str) -> str:
    """``payload`` with a token by which this process finds the Request itself, for as long as it lives."""
    return _text({**json.loads(payload), "token": token})


def token_of(payload: str) -> str:
    """The token in ``payload``; empty when there is none."""
    return str(json.loads(payload).get("token", "")) if '"token":' in payload else ""


def decode(url: str, payload: str, spider: Spider, repeat: bool) -> Request:
    """The Request that ``encode`` wrote. :raises ValueError: it does not fit the code of today; says why."""
    try:
        return _made(url, json.loads(payload), spider, repeat)
    except (TypeError, LookupError, ImportError, NameError, AttributeError) as error:
        raise ValueError(f"a stored request cannot be made again: {error}") from error


def _made(url: str, fields: dict[str, Any], spider: Spider, repeat: bool) -> Request:
    request_class = load_object(fields["class"]) if "class" in fields else Request
    known = _plain_from(fields.get("meta", {}))
    request: Request = request_class(
        url,
        callback=_method(spider, fields.get("callback")),
        errback=_method(spider, fields.get("errback")),
        method=fields.get("method", "GET"),
        headers=_plain_from(fields.get("headers", [])),
        body=_plain_from(fields.get("body")),
        cookies=_plain_from(fields.get("cookies")),
        meta={**known, "verbatim_url": True},
        encoding=fields.get("encoding", "utf-8"),
        priority=fields.get("priority", 0),
        dont_filter=repeat or "dont_filter" in fields,
        flags=_plain_from(fields.get("flags")),
        cb_kwargs=_plain_from(fields.get("cb_kwargs")),
        **_plain_from(fields.get("own", {})),
    )
    return request


def _text(fields: dict[str, Any]) -> str:
    # Escapes keep what is no Unicode (half of a surrogate pair) writable.
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
        ("headers", _plain(headers, "headers", lost)),
        ("body", _plain(request.body, "body", lost) if request.body else None),
        ("cookies", _plain(request.cookies, "cookies", lost)),
        ("meta", _plain_items(kept_meta, "meta", lost)),
        ("cb_kwargs", _plain_items(request.cb_kwargs, "cb_kwargs", lost)),
        ("own", _plain_items({name: value for name, value in own.items() if value}, "attributes", lost)),
        ("encoding", None if request.encoding == "utf-8" else request.encoding),
        ("flags", _plain(list(request.flags), "flags", lost)),
        ("priority", request.priority),
        ("dont_filter", request.dont_filter),
    ]


def _class_name(request: Request, lost: list[str]) -> str | None:
    """Where the Request's class is found again; None for Request itself and for one that is not."""
    request_class = type(request)
    if request_class is Request:
        return None
    name = global_object_name(request_class)
    try:
        if load_object(name) is request_class:
            return name
    except (ValueError, ImportError, NameError):
        pass
    lost.append(f"class {name}")
    return None


def _name(function: Callable[..., Any] | None, spider: Spider, what: str, lost: list[str]) -> str | None:
    if function is None:
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


_LOST = object()
_DEEPEST = 50
_LARGEST_BITS = 10_000


def _plain_items(items: dict[Any, Any], what: str, lost: list[str]) -> Any:
    """``items`` without those that cannot be written."""
    pairs = []
    for name, value in items.items():
        key, part = (_plain(each, f"{what}[{name!r}]", lost) for each in (name, value))
        if key is not _LOST and part is not _LOST:
            pairs.append((key, part))
    return _mapping(pairs)


def _plain(value: Any, what: str, lost: list[str], depth: int = 0) -> Any:
    """``value`` as JSON knows it, with a tag on what JSON does not know; _LOST where there is no way.

    Of containers only the plain types are written: a subclass would come back as something else.
    """
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        if not isinstance(value, int) or value.bit_length() <= _LARGEST_BITS:
            return value
    elif type(value) is bytes:
        return {_TAG: "bytes", "v": base64.b64encode(value).decode("ascii")}
    elif depth < _DEEPEST and type(value) in (list, tuple, set, frozenset):
        parts = [_plain(part, what, lost, depth + 1) for part in value]
        if any(part is _LOST for part in parts):
            return _LOST
        return parts if type(value) is list else {_TAG: type(value).__name__, "v": parts}
    elif depth < _DEEPEST and type(value) is dict:
        pairs = [tuple(_plain(part, what, lost, depth + 1) for part in pair) for pair in value.items()]
        if any(part is _LOST for pair in pairs for part in pair):
            return _LOST
        return _mapping(pairs)
    lost.append(f"{what} ({type(value).__name__})")
    return _LOST


def _mapping(pairs: Sequence[tuple[Any, ...]]) -> Any:
    if all(isinstance(key, str) and key != _TAG for key, _ in pairs):
        return dict(pairs)
    return {_TAG: "dict", "v": [list(pair) for pair in pairs]}


_BUILDERS: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda value: base64.b64decode(value),
    "tuple": lambda value: tuple(_plain_from(value)),
    "set": lambda value: set(_plain_from(value)),
    "frozenset": lambda value: frozenset(_plain_from(value)),
    "dict": lambda value: {_plain_from(key): _plain_from(part) for key, part in value},
}


def _plain_from(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_from(part) for part in value]
    if isinstance(value, dict):
        if _TAG in value:
            return _BUILDERS[value[_TAG]](value["v"])
        return {key: _plain_from(part) for key, part in value.items()}
    return value
