"""The key of a URL in an index of WARC files: the sort-friendly URI that the field's replay tools look up.

``http://www.Example.com:80/B/?b=2&a=1`` has the key ``com,example)/b?a=1&b=2``: the labels of the host in reverse,
no scheme, no default port, no ``www``, no session identifiers, no slash at the end, everything in lower case, the
query in order. What it leaves out is lost to a replay, not to the archive: each line of the index also has the URL.
The rules are those of the Internet Archive's canonicalizer, which pywb, OpenWayback and the CDX servers follow.
"""

from __future__ import annotations

import re
from functools import lru_cache

_URL = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#]*@)?(\[[^/?#]*\]|[^/?#:]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?",
    re.IGNORECASE | re.DOTALL,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_WWW = re.compile(r"www\d*\.")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_ESCAPE = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_AS_IT_STANDS = re.compile(r"[!-~]*", re.DOTALL)
_PATH_SESSIONS = (
    re.compile(r"(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)", re.DOTALL),
    re.compile(r"(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)", re.DOTALL),
)
_QUERY_SESSIONS = tuple(
    re.compile(rf"(.*)(?:{session})(?:&(.*))?", re.DOTALL)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt_key(url: str) -> str:
    """The key of an absolute URL; the URL itself where it has no host (``dns:``, ``urn:``, ``data:``)."""
    found = _URL.match(url)
    if found is None:
        return url
    scheme, host, port, path, query = found.groups()
    key = _host(host)
    if port and port != _DEFAULT_PORTS.get(scheme.lower()):
        key = f"{key}:{port}"
    key = f"{key}){_path(path)}"
    return f"{key}?{query}" if query and (query := _query(query)) else key


@lru_cache(4096)
def _host(host: str) -> str:
    if host.startswith("["):
        return host[1:-1].lower()
    labels = _WWW.sub("", _rewritten(host.lower()).replace("..", ".").strip("."), count=1).split(".")
    return ",".join(reversed(labels))


def _path(path: str) -> str:
    found = _rewritten(path)
    if "//" in found or "/." in found or not found.startswith("/"):
        found = _resolved(found)
    found = found.lower()
    if "(" in found:
        for pattern in _PATH_SESSIONS:
            if match := pattern.fullmatch(found):
                found = match[1] + match[2]
    return found[:-1] if found.endswith("/") and found != "/" else found


def _resolved(path: str) -> str:
    """Without dot segments and empty ones."""
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and segments:
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    return "/" + "/".join([segment for segment in segments[:-1] if segment] + segments[-1:])


def _query(query: str) -> str:
    found = _rewritten(query).lower()
    if "id=" in found or "aspsessionid" in found:
        for pattern in _QUERY_SESSIONS:
            if match := pattern.fullmatch(found):
                found = match[1] + (match[2] or "")
    return "&".join(sorted(found.split("&"), key=lambda pair: pair.split("=", 1))) if "&" in found else found


def _rewritten(text: str) -> str:
    """With as few escapes as can be, however often it was escaped."""
    if "%" not in text and "#" not in text and _AS_IT_STANDS.fullmatch(text):
        return text
    data = text.encode("utf-8", "surrogatepass")
    while (plain := _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), data)) != data:
        data = plain
    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found[0][0], data).decode("ascii")
