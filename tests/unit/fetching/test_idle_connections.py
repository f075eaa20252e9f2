"""How long a kept connection may be used again: not so long that the server could be closing it."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from webcrawl.fetching.connection import idle_seconds
from webcrawl.fetching.response_head import parse_head


@each_row(
    ("fields", "round_trip", "seconds"),
    [
        ([], 0.0, 4.5),
        ([], 0.1, 4.3),
        ([], 9.0, 0.0),
        (["timeout=5, max=100"], 0.0, 4.5),
        (["timeout=15"], 0.25, 14.0),
        (["timeout=15, max=1"], 0.0, 14.5),
        (["timeout=15, max=0"], 0.0, 0.0),
        (["max=100"], 0.0, 4.5),
        (["max=100; TIMEOUT = 8"], 0.0, 7.5),
        (["max=3", 'timeout="2"'], 0.0, 1.5),
        (["timeout=0"], 0.0, 0.0),
        (["timeout=300"], 0.0, 29.5),
        (["timeout=99999999999"], 0.0, 4.5),
        (["timeout=-1"], 0.0, 4.5),
        (["timeout=soon, x-timeout=1"], 0.0, 4.5),
        (["a" * 100_000 + ", timeout=1"], 0.0, 4.5),
    ],
)
def test_a_connection_is_used_while_the_server_keeps_it_less_a_margin(
    fields: list[str], round_trip: float, seconds: float
) -> None:
    lines = "".join(f"Keep-Alive: {field}\r\n" for field in fields)
    head = parse_head(f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode())
    assert idle_seconds(head, round_trip) == pytest.approx(seconds)
