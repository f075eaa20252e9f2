"""Each head that is sent is signed by itself, if the crawl has a signer."""

from __future__ import annotations

from itertools import count

import pytest

from tests.unit.fetching.lab import Client, Peer, answering, run, serving
from webcrawl.fetching.signing import sign_requests

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Numbering:
    """A signer that counts, and remembers what it was asked to sign."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str, str]] = []
        self._number = count(1)

    def head_fields(self, method: str, scheme: str, authority: str, path: str, now: float) -> bytes:
        """See HeadSigner."""
        self.asked.append((method, scheme, authority, path))
        return b"Signature: sig1=:%d:\r\n" % next(self._number)


class SigningClient(Client):
    """A client of a crawl whose requests are signed."""

    def __init__(self) -> None:
        super().__init__()
        self.signer = Numbering()
        sign_requests(self.crawler, self.signer)


def test_a_request_that_is_sent_again_is_signed_again() -> None:
    heads: list[bytes] = []

    async def behave(peer: Peer) -> None:
        if peer.number == 1:
            heads.append(await peer.request())
            await peer.send(OK)
            heads.append(await peer.request())
            return
        await answering(OK, record=heads)(peer)

    async def test() -> None:
        async with serving(behave) as site, SigningClient() as client:
            url = site.url("/a?b=c", host="name.localhost")
            await client.fetch(url)
            again = await client.fetch(url)
            assert again.response is not None
            assert [head.count(b"\r\nSignature: ") for head in heads] == [1, 1, 1]
            assert [
                head.endswith(b"Signature: sig1=:%d:\r\n\r\n" % at) for at, head in enumerate(heads, 1)
            ] == [True] * 3
            assert client.signer.asked == [("GET", "http", f"name.localhost:{site.port}", "/a?b=c")] * 3
            capture = again.meta.capture
            assert capture is not None
            assert capture.request_head == heads[-1], "the archive has what was sent"

    run(test())


@pytest.mark.parametrize("name", ["Signature", "signature-input", "Signature-Agent"])
def test_what_its_spider_has_signed_stays_as_it_is(name: str) -> None:
    heads: list[bytes] = []

    async def test() -> None:
        async with serving(answering(OK, record=heads)) as site, SigningClient() as client:
            await client.fetch(site.url(), headers={name: "own"})
            await client.fetch(site.url(), headers={"Host": "other.test"})
            await client.fetch(site.url(), headers={"Host": b"\xe9.test"})
            asked = [authority for _, _, authority, _ in client.signer.asked]
            assert asked == ["other.test", f"127.0.0.1:{site.port}"]
            assert [b"sig1=" in head for head in heads] == [False, True, True]

    run(test())
