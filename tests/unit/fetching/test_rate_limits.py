"""The rate limit of a response: its fields in any case and in several lines, by the server's own clock."""

from __future__ import annotations

from scrapy.http import Response

from tests.rows import each_row
from webcrawl.fetching.rate_limits import response_rate_limit
from webcrawl.politeness.rate_limits import RateLimit

NOW = 1_700_000_000.0
DATE = "Tue, 14 Nov 2023 22:03:20 GMT"
"""Ten minutes before."""

CASES = [
    ({"Server": "nginx", "Age": "5"}, None),
    ({"ratelimit": '"a";r=2;t=10'}, RateLimit(5, 10)),
    ({"RateLimit": ['"a";r=2;t=10', '"b";r=1;t=60']}, RateLimit(60, 60)),
    ({"RateLimit": '"a";r=2;t=10', "Age": "0"}, RateLimit(5, 10)),
    # It was another request's.
    ({"RateLimit": '"a";r=2;t=10', "Age": "1"}, None),
    ({"X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1700000060"}, RateLimit(60, 60)),
    ({"X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1700000060", "Date": DATE}, RateLimit(660, 660)),
    ({"X-RateLimit-Remaining": ["1", "1"], "X-RateLimit-Reset": "60"}, None),
]


@each_row(("fields", "limit"), CASES)
def test_the_fields_of_a_response_are_read(
    fields: dict[str, str | list[str]], limit: RateLimit | None
) -> None:
    assert response_rate_limit(Response("http://h.test/", headers=fields), NOW) == limit
