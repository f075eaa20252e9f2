"""Names become addresses: asked once while the answer lives, never for localhost, in the time allowed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, run
from tests.unit.fetching.nameserver import name_server
from webcrawl.fetching.resolver import NEGATIVE_TTL_SECONDS, Resolver, parse_nameservers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Clock:
    """A time that only moves when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def resolving(*servers: str, **kwargs: object) -> AsyncIterator[Resolver]:
    resolver = Resolver(servers, **kwargs)  # type: ignore[arg-type]
    try:
        yield resolver
    finally:
        await resolver.close()


async def _ips(resolver: Resolver, name: str) -> list[str]:
    return [found["host"] for found in await resolver.resolve(name, 80)]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_name_server_on_any_port_is_asked_for_both_families(loop: str) -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: ["192.0.2.1", "2001:db8::1"]) as server,
            resolving(f"127.0.0.1:{server.port}") as resolver,
        ):
            found = await resolver.resolve("a.example", 8080)
            assert {(one["host"], one["family"]) for one in found} == {
                ("192.0.2.1", socket.AF_INET),
                ("2001:db8::1", socket.AF_INET6),
            }
            assert {one["port"] for one in found} == {8080}
            only = await resolver.resolve("a.example", 1, socket.AF_INET6)
            assert [one["host"] for one in only] == ["2001:db8::1"]

    run(test(), loop)


def test_an_answer_is_remembered_as_long_as_it_says() -> None:
    clock = Clock()

    async def test() -> None:
        async with (
            name_server(lambda name: ["192.0.2.1"], ttl=77) as server,
            resolving(f"127.0.0.1:{server.port}", clock=clock) as resolver,
        ):
            for _ in range(3):
                assert await _ips(resolver, "A.Example.") == ["192.0.2.1"]
            assert len(server.asked) == 2  # A and AAAA
            clock.now += 76
            await _ips(resolver, "a.example")
            assert len(server.asked) == 2

    run(test())


@pytest.mark.parametrize(("missing", "message"), [(None, "not found"), ([], "no")])
def test_a_name_without_an_address_is_remembered_shortly(missing: list[str] | None, message: str) -> None:
    clock = Clock()
    answers: list[list[str] | None] = [missing]

    async def test() -> None:
        async with (
            name_server(lambda name: answers[0]) as server,
            resolving(f"127.0.0.1:{server.port}", clock=clock) as resolver,
        ):
            for _ in range(2):
                with pytest.raises(OSError, match=message) as caught:
                    await resolver.resolve("no.example")
                assert caught.value.errno is None
            asked = len(server.asked)
            clock.now += NEGATIVE_TTL_SECONDS + 1
            with pytest.raises(OSError, match=message):
                await resolver.resolve("no.example")
            assert len(server.asked) >= asked

    run(test())


def test_the_cache_forgets_what_was_not_asked_for_longest() -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: ["192.0.2.1"]) as server,
            resolving(f"127.0.0.1:{server.port}", cache_size=2) as resolver,
        ):
            for name in ("a.example", "b.example", "a.example", "c.example"):
                await _ips(resolver, name)
            assert len(resolver) == 2
            assert "a.example" in resolver
            assert "b.example" not in resolver

    run(test())


def test_no_search_list_is_tried() -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: None) as server,
            resolving(f"127.0.0.1:{server.port}") as resolver,
        ):
            for name in ("a.example", "single"):
                with pytest.raises(OSError, match="not found"):
                    await resolver.resolve(name)
            assert set(server.asked) == {"a.example", "single"}

    run(test())


@each_row("name", ["localhost", "LOCALHOST", "a.localhost", "a.b.localhost."])
def test_localhost_is_loopback_and_never_asked_for(name: str) -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: ["192.0.2.1"]) as server,
            resolving(f"127.0.0.1:{server.port}") as resolver,
        ):
            assert await _ips(resolver, name) == ["127.0.0.1", "::1"]
            assert server.asked == []

    run(test())


def test_a_silent_name_server_costs_no_more_than_the_time_allowed() -> None:
    async def test() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            async with resolving(f"127.0.0.1:{silent.getsockname()[1]}", timeout_seconds=0.1) as resolver:
                async with asyncio.timeout(2):
                    with pytest.raises(OSError, match=r"no answer in 0\.1 s") as caught:
                        await resolver.resolve("a.example")
                assert not isinstance(caught.value, TimeoutError)

    run(test())


@each_row("name", ["a" * 64 + ".example", "a..example", "b\u00fccher.example", "a b"])
def test_impossible_names_are_failures_like_others(name: str) -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: None) as server,
            resolving(f"127.0.0.1:{server.port}") as resolver,
        ):
            with pytest.raises(OSError, match=r"."):
                await resolver.resolve(name)

    run(test())


@each_row(
    ("value", "parsed"),
    [
        ("192.0.2.1", "192.0.2.1:53"),
        (" 192.0.2.1:5353 ", "192.0.2.1:5353"),
        ("::1", "[::1]:53"),
        ("2001:db8::1", "[2001:db8::1]:53"),
        ("[2001:db8::1]", "[2001:db8::1]:53"),
        ("[2001:db8::1]:5353", "[2001:db8::1]:5353"),
    ],
)
def test_name_servers_are_written_as_everywhere(value: str, parsed: str) -> None:
    assert parse_nameservers([value]) == [parsed]


@each_row("value", ["", "dns.example", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:70000", "1.2.3", "[::1"])
def test_what_is_no_name_server_is_named(value: str) -> None:
    with pytest.raises(ValueError, match="DNS_NAMESERVERS") as caught:
        parse_nameservers([value])
    assert repr(value) in str(caught.value)
