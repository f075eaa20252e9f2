"""How long a connection may lie idle and still be used: the server must not be closing it when a request arrives.

A request that crosses the end of its connection is lost, and looks like a server that closed without an answer. So a
connection is not used when its time at the server is nearly over. Servers may announce that time; Apache does where
``Connection: keep-alive`` was sent. Pure functions, no input or output.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.downloadhandlers.response_head import ResponseHead

ASSUMED_SECONDS = 5.0
"""Where nothing is announced: the default of Apache, Node and lighttpd; few servers have less."""
LONGEST_SECONDS = 30.0
"""However long a server would wait."""
MARGIN_SECONDS = 0.5
"""For clocks that tick coarsely, and for the time until we see what has come."""

_PARAMETER = re.compile(rb"(?:^|[,;])[ \t]*(timeout|max)[ \t]*=[ \t]*\"?(\d{1,9})(?!\d)", re.IGNORECASE)
_LOOKED_AT_BYTES = 256


def idle_seconds(head: ResponseHead, round_trip_seconds: float) -> float:
    """How long after the response the connection may take another request; 0 for not at all.

    The server counted from half a round trip before the response was here, and a request takes another half.
    """
    announced = ASSUMED_SECONDS
    fields = head.values(b"keep-alive")
    if fields:
        said = dict(_parameters(b",".join(fields)[:_LOOKED_AT_BYTES]))
        if said.get(b"max") == 0:
            return 0.0
        announced = min(float(said.get(b"timeout", ASSUMED_SECONDS)), LONGEST_SECONDS)
    return max(0.0, announced - MARGIN_SECONDS - 2 * round_trip_seconds)


def _parameters(value: bytes) -> list[tuple[bytes, int]]:
    return [(name.lower(), int(number)) for name, number in _PARAMETER.findall(value)]
