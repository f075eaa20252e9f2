"""Resolution of links as in browsers: the WHATWG URL standard by ada, restricted to URLs that are requested over
HTTP.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import webencodings
from ada_url import join_url

_HTTP = ("http://", "https://")
FOLDERS_MAX = 8
"""The number of ``../`` up to which a link is resolved without the parser."""
_QUERY_IN_ITS_ENCODING = ("ftp:", "file:")
"""Other schemes whose queries depend on the encoding of the document (URL standard, 4.4: they are special)."""
_HOLDS_CONTENT = ("data:", "javascript:")
CONTENT_MAX = 200
"""The number of characters that are kept of a URL which contains its content, an image or a program."""
_STRIPPED = "".join(map(chr, range(0x21)))
_REMOVED = {ord(character): None for character in "\t\n\r"}

# Hrefs that the standard does not change, given that no segment starts with a dot: a path from the root, an absolute
# URL whose host is lower-case letters and cannot be a number and whose port, if any, is no default one, or (the
# group) a path relative to the page. They are the greater part of the links on real pages. Matching them costs a
# quarter of a parse, and a parse releases the GIL, for which other threads are waiting.
_QUERY = r"(?:\?[A-Za-z0-9_~!$&()*+,;=:@.%/?-]*)?"
_UNTOUCHED = re.compile(
    r"(?:https?://(?:(?!xn--)[a-z0-9-]+\.)+[a-z]{2,}"
    r"(?::(?!80/|443/)(?:[1-9][0-9]{0,3}|[1-5][0-9]{4})(?=/))?)?"
    rf"/(?!/)[A-Za-z0-9_~!$&()*+,;=:@./-]*{_QUERY}"
    rf"|([A-Za-z0-9_~-][A-Za-z0-9_~!$&()*+,;=@./-]*{_QUERY})"
).fullmatch

_ASCII = "".join(map(chr, range(0x20, 0x7F)))
_UNENCODABLE = "webcrawl.urls.query"
_QUERY_BYTE = [
    f"%{byte:02X}" if byte < 0x21 or byte > 0x7E or byte in b"\"#<>'" else chr(byte) for byte in range(256)
]
"""The special-query percent-encode set of the standard, section 1.3."""

QueryEncoder = Callable[[str, str], tuple[bytes, int]]


def resolve(href: str, base: str, encoding: str = "utf-8") -> str | None:
    """Return the URL of ``href`` on a page at ``base``; None if it cannot be requested over HTTP.

    The fragment and any user name and password are dropped. ``encoding`` is the document's, as a WHATWG label or as
    Python names it; only the query of a link ever depends on it. Never raises.
    """
    if not href.isascii():
        href = _plain_ascii_query(href, _query_encoder(encoding))
    try:
        url = join_url(base, href)
    except ValueError:
        return None
    return _requestable(url)


def resolve_other_scheme(href: str, base: str, encoding: str = "utf-8") -> str | None:
    """Return the URL of ``href`` on a page at ``base`` if its scheme is not http or https: ``mailto:``, ``tel:``,
    ``javascript:``, ``ftp:`` and so on; None for every other ``href``.

    It is serialised by the standard, with its fragment; of ``data:`` and ``javascript:`` the first ``CONTENT_MAX``
    characters. ``encoding`` is as for ``resolve``. Never raises.
    """
    href = _scalar_values(href)
    try:
        url = join_url(base, href)
        if not href.isascii() and url.startswith(_QUERY_IN_ITS_ENCODING):
            url = join_url(base, _plain_ascii_query(href, _query_encoder(encoding)))
    except ValueError:
        return None
    if url.startswith(_HTTP):
        return None
    return url[:CONTENT_MAX] if url.startswith(_HOLDS_CONTENT) else url


def resolve_all(hrefs: Sequence[str], base: str, encoding: str = "utf-8") -> list[str | None]:
    """Return ``[resolve(href, base, encoding) for href in hrefs]``, at a fraction of its cost."""
    root = resolve("/", base)
    if root is None:
        return [resolve(href, base, encoding) for href in hrefs]
    origin = root[:-1]
    page = resolve(base, base) or root
    folder = page[: page.partition("?")[0].rindex("/") + 1]
    folders = [folder]
    resolved: list[str | None] = []
    for href in hrefs:
        # The fragment is dropped in any case.
        wanted, mark, _ = href.partition("#")
        if not wanted and mark:
            resolved.append(page)
            continue
        up = 0
        while up < FOLDERS_MAX and wanted.startswith("../"):
            wanted, up = wanted[3:], up + 1
        untouched = _UNTOUCHED(wanted)
        if untouched is None or "/." in wanted or (up and not untouched[1]):
            resolved.append(resolve(href, base, encoding))
        elif wanted[0] == "/":
            resolved.append(origin + wanted)
        elif untouched[1]:
            while up >= len(folders):
                folders.append(_parent(folders[-1], root))
            resolved.append(folders[up] + wanted)
        else:
            resolved.append(wanted)
    return resolved


def _parent(folder: str, root: str) -> str:
    """Return the folder above one; above the root there is none."""
    return folder if folder == root else folder[: folder.rindex("/", 0, -1) + 1]


def _requestable(url: str) -> str | None:
    if not url.startswith(_HTTP):
        return None
    if "#" in url:
        url = url[: url.index("#")]
    if "@" in url:
        return _without_credentials(url)
    return url


def _without_credentials(url: str) -> str:
    scheme, _, rest = url.partition("//")
    authority, slash, path = rest.partition("/")
    return f"{scheme}//{authority.rpartition('@')[2]}{slash}{path}"


def _plain_ascii_query(href: str, encoder: QueryEncoder | None) -> str:
    """Prepare a link that is not ASCII: without lone surrogates, and with the query in the document's legacy
    encoding.

    The parser percent-encodes the rest as UTF-8 (section 4.4, "query state", 3.2).
    """
    href = _scalar_values(href)
    if encoder is None or "?" not in href:
        return href
    href = href.strip(_STRIPPED).translate(_REMOVED).partition("#")[0]
    before, mark, query = href.partition("?")
    if query.isascii():
        return href
    encoded, _ = encoder(query, _UNENCODABLE)
    return before + mark + "".join([_QUERY_BYTE[byte] for byte in encoded])


def _scalar_values(text: str) -> str:
    """Replace lone surrogates by U+FFFD, as in every string passed to the URL parser of a browser."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


@lru_cache(maxsize=256)
def _query_encoder(label: str) -> QueryEncoder | None:
    """Return the encoder for queries in documents of this encoding; None if it is UTF-8, or unknown.

    The output encoding of UTF-16 and of the "replacement" encoding is UTF-8 (Encoding standard, section 4.3).
    """
    try:
        encoding = webencodings.lookup(label) or webencodings.lookup(codecs.lookup(label).name)
        info = codecs.lookup(label) if encoding is None else encoding.codec_info
        keeps_ascii = bool(info.encode(_ASCII)[0] == _ASCII.encode())
    except (LookupError, ValueError, TypeError):
        return None
    if not keeps_ascii or info.name in {"utf-8", "replacement"}:
        return None
    encode: QueryEncoder = info.encode
    return encode


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join([f"%26%23{ord(character)}%3B" for character in characters]), error.end


codecs.register_error(_UNENCODABLE, _escape_unencodable)


_IGNORED = re.compile(r"[\t\n\r]")
_AROUND = "".join(map(chr, range(0x21)))
_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?([/\\]*)([^/\\?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_PORT = re.compile(r"(.*?)(?::(\d*))?", re.DOTALL)
NAMES = ("space", "scheme", "slashes", "credentials", "host", "port", "path", "query", "fragment")


@dataclass(frozen=True, slots=True)
class PartChange:
    """A part of a URL as it was written and as it is requested; None if there is none."""

    part: str
    before: str | None
    after: str | None


def changes(written: str, resolved: str) -> list[PartChange]:
    """Return the parts in which an absolute URL, or a mere host name, differs from its resolved form.

    ``space`` is white space that the standard ignores: around the URL, and tabs and line ends within (WHATWG URL,
    section 4.4, "basic URL parser", 1-3).
    """
    plain = _IGNORED.sub("", written.strip(_AROUND))
    before = {"space": None if plain == written else written, **_parts(plain)}
    after = {"space": None if plain == written else plain, **_parts(resolved)}
    return [PartChange(name, before[name], after[name]) for name in NAMES if before[name] != after[name]]


def _parts(url: str) -> dict[str, str | None]:
    match = _PARTS.fullmatch(url)
    assert match is not None, "every text has these parts"
    scheme, slashes, authority, path, query, fragment = match.groups()
    credentials, at, place = authority.rpartition("@")
    address = _PORT.fullmatch(place)
    assert address is not None, "every text is a host, perhaps with a port"
    return {
        "scheme": scheme,
        "slashes": slashes if scheme else None,
        "credentials": credentials if at else None,
        "host": address[1],
        "port": address[2],
        "path": path,
        "query": query,
        "fragment": fragment,
    }
