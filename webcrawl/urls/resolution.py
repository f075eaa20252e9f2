"""What resolving changed in a URL as it was written, part by part."""

from __future__ import annotations

import re
from dataclasses import dataclass

_IGNORED = re.compile(r"[\t\n\r]")
_AROUND = "".join(map(chr, range(0x21)))
_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?([/\\]*)([^/\\?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_PORT = re.compile(r"(.*?)(?::(\d*))?", re.DOTALL)
NAMES = ("space", "scheme", "slashes", "credentials", "host", "port", "path", "query", "fragment")


@dataclass(frozen=True, slots=True)
class Change:
    """A part of a URL as it was written and as it is requested; None where there is none."""

    part: str
    before: str | None
    after: str | None


def changes(written: str, resolved: str) -> list[Change]:
    """Return the parts in which an absolute URL, or the mere name of a host, differs from what was made of it.

    ``space`` is white space that the standard ignores: around the URL, and tabs and line ends within (WHATWG
    URL, section 4.4, "basic URL parser", 1-3).
    """
    plain = _IGNORED.sub("", written.strip(_AROUND))
    before = {"space": None if plain == written else written, **_parts(plain)}
    after = {"space": None if plain == written else plain, **_parts(resolved)}
    return [Change(name, before[name], after[name]) for name in NAMES if before[name] != after[name]]


def _parts(url: str) -> dict[str, str | None]:
    found = _PARTS.fullmatch(url)
    assert found is not None, "every text has these parts"
    scheme, slashes, authority, path, query, fragment = found.groups()
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
