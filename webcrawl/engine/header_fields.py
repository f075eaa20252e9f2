"""Look-up of fields in Scrapy's ``Headers`` by their stored names: bytes, each word with a capital.

Scrapy normalizes the name and the default at each look-up, which takes ten times as long; a page needs a dozen of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.http import Headers


def values(headers: Headers, name: bytes) -> list[bytes]:
    """Return ``headers.getlist(name)``. The name is written as in ``b"Content-Type"``: no other form is found."""
    found: list[bytes] | None = dict.get(headers, name)
    return found or []


def last(headers: Headers, name: bytes) -> bytes | None:
    """Return ``headers.get(name)``: of several fields of the name, the last one. The name is written as for
    ``values``.
    """
    found: list[bytes] | None = dict.get(headers, name)
    return found[-1] if found else None
