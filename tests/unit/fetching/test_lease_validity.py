"""A key whose lease has ended is left alone at once: nothing is sent, and nothing is waited for."""

from __future__ import annotations

from tests.unit.fetching.lab import Peer, answering, fetch_from
from webcrawl.storage.contract import LeaseValidity, uptime

PAGE = b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\nhello"


async def silent(peer: Peer) -> None:
    await peer.request()
    await peer.gone()


def test_nothing_is_sent_when_the_hold_is_over() -> None:
    sent: list[bytes] = []
    fetched = fetch_from(answering(PAGE, record=sent), facts={"hold": LeaseValidity(uptime() - 0.001)})

    assert fetched.word == "cancelled"
    assert sent == []


def test_an_open_request_ends_with_the_hold() -> None:
    hold = LeaseValidity(uptime() + 0.3)
    fetched = fetch_from(silent, facts={"hold": hold})

    assert fetched.word == "timeout"
    assert hold.is_over()


def test_a_hold_that_was_renewed_meanwhile_ends_nothing() -> None:
    hold = LeaseValidity(uptime() + 0.5)

    async def late(peer: Peer) -> None:
        await peer.request()
        hold.until = uptime() + 60
        await peer.send(b"", pause=0.6)
        await peer.send(PAGE)

    fetched = fetch_from(late, facts={"hold": hold})

    assert fetched.response is not None
    assert fetched.response.body == b"hello"
