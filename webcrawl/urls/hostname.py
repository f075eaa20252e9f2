"""Hosts as people write them in lists: with a scheme, in capitals, in their own script, with a final dot."""

from __future__ import annotations

import re

from webcrawl.urls.politeness_key import host_of
from webcrawl.urls.resolve import resolve

# Hardly anything to do: lower case, no punycode to be checked, and a last label that no browser takes for a
# number. Nearly every name in a list of a million is so.
_READY = re.compile(r"(?:https?://)?((?:(?!xn--)[a-z0-9_-]+\.)*(?!xn--)[a-z][a-z0-9_-]*)\.?/?").fullmatch
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*").fullmatch
_NUMBERS = re.compile(r"[0-9.]+").fullmatch


def hostname(text: str) -> str | None:
    """Return the host that ``text`` names, as it stands in a resolved URL but without a final dot; None if
    none.

    A scheme (http or https), a port and a path are accepted and dropped, capitals and IDN reduced. What is
    only by a browser's lenience a host (``12345``, ``user@example.com``, ``a,b.com``) is not taken for one.
    """
    if ready := _READY(text):
        return ready[1]
    with_scheme = text if "://" in text else f"http://{text}"
    if "@" in text or (url := resolve(with_scheme, "about:blank")) is None:
        return None
    host = host_of(url)
    host = host.removesuffix(".")
    if host.startswith("["):
        return host
    if _NAME(host) is None or (_NUMBERS(host) and host not in text):
        return None
    return host
