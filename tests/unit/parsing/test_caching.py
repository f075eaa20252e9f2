"""How long a response is fresh by its header fields (RFC 9111, section 4.2)."""

from __future__ import annotations

from tests.rows import each_row
from webcrawl.parsing.caching import LIFETIME_MAX_SECONDS, fresh_seconds

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
LATER = "Sun, 06 Nov 1994 09:49:37 GMT"
CASES = [
    # Cache-Control, Expires, Date, Age, lifetime
    ([], None, DATE, None, None),
    (["public"], None, DATE, "5", None),
    (["max-age=60"], None, None, None, 60.0),
    (["public, MAX-AGE=60, immutable"], None, None, None, 60.0),
    (["public", "max-age=60"], None, None, None, 60.0),
    (['max-age="60"'], None, None, None, 60.0),
    (["max-age=60"], None, None, "15", 45.0),
    (["max-age=60"], None, None, " 90 ", 0.0),
    (["max-age=60"], None, None, "-90", 60.0),
    (["max-age=60"], None, None, "soon", 60.0),
    (["max-age=60, max-age=60"], None, None, None, 60.0),
    # Words that contradict each other, or that cannot be read, ask for confirmation (section 4.2.1).
    (["max-age=60, max-age=61"], None, None, None, 0.0),
    (["max-age=1.5"], None, None, None, 0.0),
    (["max-age=-1"], None, None, None, 0.0),
    (["max-age"], None, None, None, 0.0),
    (["max-age=\u00b2"], None, None, None, 0.0),
    (["max-age=60, no-cache"], None, None, None, 0.0),
    (["no-store"], LATER, DATE, None, 0.0),
    (['no-cache="set-cookie", max-age=60'], None, None, None, 0.0),
    # For shared caches.
    (["s-maxage=3600"], None, None, None, None),
    (["max-age=0, s-maxage=3600"], None, None, None, 0.0),
    (['x="max-age=60, no-store"'], None, None, None, None),
    (["xmax-age=60"], None, None, None, None),
    # Expires counts from the server's own Date, and after max-age.
    ([], LATER, DATE, None, 3600.0),
    ([], LATER, DATE, "600", 3000.0),
    (["max-age=60"], LATER, DATE, None, 60.0),
    ([], DATE, LATER, None, 0.0),
    ([], "0", DATE, None, 0.0),
    ([], "-1", None, None, 0.0),
    ([], LATER, None, None, None),
    ([], LATER, "yesterday", None, None),
    # No number overflows.
    (["max-age=315360000"], None, None, None, 315_360_000.0),
    (["max-age=" + "9" * 400], None, None, None, LIFETIME_MAX_SECONDS),
    (["max-age=60"], None, None, "9" * 400, 0.0),
    ([], "Fri, 31 Dec 9999 23:59:59 GMT", DATE, None, LIFETIME_MAX_SECONDS),
    (["x" * 5000 + ", max-age=60"], None, None, None, None),
]


@each_row(("cache_control", "expires", "date", "age", "lifetime"), CASES)
def test_the_lifetime_is_that_of_the_rfc(
    cache_control: list[str], expires: str | None, date: str | None, age: str | None, lifetime: float | None
) -> None:
    assert fresh_seconds(cache_control, expires, date, age) == lifetime
