"""A host is contacted at the address whose clock is held, and at no other."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.unit.fetching.lab import Client, Site, answering, run, serving
from tests.unit.fetching.nameserver import name_server
from webcrawl.fetching.network import get_network

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ONE, OTHER, DEAD = "127.0.0.1", "127.0.0.2", "127.0.0.3"
NAMES = {
    "both.test": [ONE, OTHER],
    "turned.test": [OTHER, ONE],
    "half.test": [DEAD, ONE],
    "mixed.test": ["10.0.0.1", "8.8.8.8"],
    "inside.test": ["10.0.0.1"],
}


@asynccontextmanager
async def lab(allowed: object = True) -> AsyncIterator[tuple[Site, Client, dict[str, list[str]]]]:
    names = dict(NAMES)
    async with (
        serving(answering(OK), also_at=[OTHER]) as site,
        name_server(names.get, ttl=0) as dns,
        Client(DNS_NAMESERVERS=[f"127.0.0.1:{dns.port}"], FETCH_PRIVATE_ADDRESSES=allowed) as client,
    ):
        yield site, client, names


@pytest.mark.parametrize("place", [ONE, OTHER])
def test_the_address_is_the_one_that_was_chosen(place: str) -> None:
    async def test() -> None:
        async with lab() as (site, client, _):
            for _ in range(2):
                fetched = await client.fetch(site.url(host="both.test"), {"place": place})
                assert fetched.word is None
                assert fetched.meta.capture is not None
                assert fetched.meta.capture.ip == place
            assert site.connections == 1

    run(test())


def test_a_connection_to_another_address_is_not_used() -> None:
    async def test() -> None:
        async with lab() as (site, client, _):
            for number, place in enumerate((ONE, OTHER, ONE), start=1):
                fetched = await client.fetch(site.url(host="both.test"), {"place": place})
                assert fetched.meta.capture is not None
                assert fetched.meta.capture.ip == place
                assert site.connections == number

    run(test())


def test_without_a_place_nothing_is_sent_though_the_name_has_an_address_by_now() -> None:
    async def test() -> None:
        async with lab() as (site, client, _):
            fetched = await client.fetch(site.url(host="both.test"), {"place": ""})
            assert fetched.word == "dns"
            assert fetched.response is None

    run(test())


def test_a_host_keeps_its_address_while_it_has_it() -> None:
    async def test() -> None:
        async with lab() as (_, client, names):
            places = get_network(client.crawler).places
            names["both.test"] = [ONE, OTHER]
            assert await places.locate("both.test") == ONE
            places._resolver._resolver._cache.clear()
            names["both.test"] = [OTHER, ONE]
            assert await places.locate("both.test") == ONE
            places._resolver._resolver._cache.clear()
            names["both.test"] = [OTHER]
            assert await places.locate("both.test") == OTHER

    run(test())


def test_an_address_that_cannot_be_reached_is_followed_by_the_next() -> None:
    async def test() -> None:
        async with lab() as (site, client, _):
            places = get_network(client.crawler).places
            tried = []
            for _ in range(3):
                place = await places.locate("half.test")
                tried.append((place, (await client.fetch(site.url(host="half.test"), {"place": place})).word))
            assert tried == [(DEAD, "connection-refused"), (ONE, None), (ONE, None)]

    run(test())


def test_private_addresses_are_no_place() -> None:
    async def test() -> None:
        async with lab(allowed=False) as (site, client, _):
            places = get_network(client.crawler).places
            assert await places.locate("mixed.test") == "8.8.8.8"
            assert await places.locate("inside.test") is None
            assert await places.locate("nothing.test") is None
            assert await places.locate(ONE) is None
            assert await places.locate("[::ffff:10.0.0.1]") is None
            assert await places.locate("8.8.4.4") == "8.8.4.4"
            # What it was refused for is told as ever.
            assert (await client.fetch(site.url(host="inside.test"), {"place": ""})).word == "private"
            assert (await client.fetch(site.url(host="nothing.test"), {"place": ""})).word == "dns"

    run(test())


def test_a_proxy_is_contacted_wherever_it_is() -> None:
    async def test() -> None:
        async with lab() as (site, client, _):
            proxy = {"proxy": site.url()}
            fetched = await client.fetch("http://nothing.test/", {"place": ""}, meta=proxy)
            assert fetched.word is None

    run(test())


def test_addresses_are_chosen_for_many_hosts_at_once() -> None:
    async def test() -> None:
        async with lab() as (_, client, _names):
            places = get_network(client.crawler).places
            found = await asyncio.gather(*(places.locate(name) for name in ("both.test", "turned.test") * 5))
            assert set(found) == {ONE, OTHER}

    run(test())
