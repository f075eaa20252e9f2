"""The name server answers for its names, denies the dead ones, and can keep silent."""

from __future__ import annotations

import asyncio
import socket

import aiodns
import pytest

from tests.fakeweb import NameServer, Zone
from tests.rows import each_row

ZONE = Zone(
    ["test", "example"],
    dead=["gone.test"],
    failing=["bad.test"],
    addresses={"own.test": ["127.1.2.3", "127.1.2.4"]},
    ttl_seconds=77,
)


async def _ask(zone: Zone, name: str, kind: str = "A", *, tcp: bool = False) -> list[tuple[str, int]]:
    async with NameServer(zone) as server:
        resolver = aiodns.DNSResolver(
            ["127.0.0.1"],
            udp_port=server.port,
            tcp_port=server.port,
            timeout=0.2,
            tries=1,
            flags=1 if tcp else 0,
        )
        try:
            result = await resolver.query_dns(name, kind)
        finally:
            await resolver.close()
        assert server.asked
        return [(record.data.addr, record.ttl) for record in result.answer]


@pytest.mark.parametrize("tcp", [False, True])
def test_a_name_below_a_suffix_is_loopback(tcp: bool) -> None:
    assert asyncio.run(_ask(ZONE, "www.a.TEST", tcp=tcp)) == [("127.0.0.1", 77)]


def test_a_name_may_have_addresses_of_its_own() -> None:
    found = asyncio.run(_ask(ZONE, "own.test"))

    assert sorted(found) == [("127.1.2.3", 77), ("127.1.2.4", 77)]


@each_row(
    ("name", "kind", "error"),
    [
        ("x.gone.test", "A", aiodns.error.ARES_ENOTFOUND),
        ("elsewhere.org", "A", aiodns.error.ARES_ENOTFOUND),
        ("a.test", "AAAA", aiodns.error.ARES_ENODATA),
        ("bad.test", "A", aiodns.error.ARES_ESERVFAIL),
    ],
)
def test_a_name_that_fails_fails_in_its_own_way(name: str, kind: str, error: int) -> None:
    with pytest.raises(aiodns.error.DNSError) as failure:
        asyncio.run(_ask(ZONE, name, kind))

    assert failure.value.args[0] == error


def test_a_silent_name_server_takes_questions_and_never_answers() -> None:
    with pytest.raises(aiodns.error.DNSError) as failure:
        asyncio.run(_ask(Zone(["test"], silent=True), "a.test"))

    assert failure.value.args[0] == aiodns.error.ARES_ETIMEOUT


def test_what_is_no_question_is_ignored() -> None:
    async def scenario() -> list[str]:
        async with NameServer(ZONE) as server:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                for packet in (
                    b"",
                    b"x",
                    b"\0" * 12,
                    b"\0\1\x80\0\0\1" + b"\0" * 6 + b"\1a\0\0\1\0\1",
                    b"\xff" * 99,
                ):
                    client.sendto(packet, ("127.0.0.1", server.port))
            await asyncio.sleep(0.05)
            return server.asked

    assert asyncio.run(scenario()) == []
