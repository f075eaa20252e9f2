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
    fetched = fetch_from(answering(PAGE, record=sent), facts={"validity": LeaseValidity(uptime() - 0.001)})

    assert fetched.word == "cancelled"
    assert sent == []


def test_an_open_request_ends_with_the_lease() -> None:
    validity = LeaseValidity(uptime() + 0.3)
    fetched = fetch_from(silent, facts={"validity": validity})

    assert fetched.word == "timeout"
    assert validity.is_over()


def test_a_lease_that_was_renewed_meanwhile_ends_nothing() -> None:
    validity = LeaseValidity(uptime() + 0.5)

    async def late(peer: Peer) -> None:
        await peer.request()
        validity.until = uptime() + 60
        await peer.send(b"", pause=0.6)
        await peer.send(PAGE)

    fetched = fetch_from(late, facts={"validity": validity})

    assert fetched.response is not None
    assert fetched.response.body == b"hello"
