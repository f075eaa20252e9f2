"""Private addresses are not connected to unless the operator allows it, whatever URL or name says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, answering, run, serving
from tests.unit.fetching.nameserver import name_server
from webcrawl.crawl.seeded_hosts import NAME, KeptSeeds
from webcrawl.fetching import resolver
from webcrawl.fetching.failures import PrivateAddressError
from webcrawl.fetching.network import get_network, seed_addresses
from webcrawl.fetching.private_addresses import address_rule

if TYPE_CHECKING:
    from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

INSIDE = {
    "inside.example": ["127.0.0.1"],
    "both.example": ["127.0.0.1", "::1", "10.1.2.3"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "sixtofour.example": ["2002:7f00:1::"],
    "nowhere.example": ["0.0.0.0"],
    "metadata.example": ["169.254.169.254"],
    "metadata6.example": ["fd00:ec2::254"],
    "carrier.example": ["100.64.0.1"],
    "neighbour.example": ["fe80::1"],
}
"""Names whose name server says that they are in here."""


@each_row("loop", LOOPS)
@each_row(
    "host",
    [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "a.localhost",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        *INSIDE,
    ],
)
def test_a_private_address_is_refused_before_anything_is_sent(host: str, loop: str) -> None:
    async def test() -> None:
        async with (
            name_server(INSIDE.get) as dns,
            serving(answering(OK)) as site,
            Client(FETCH_PRIVATE_ADDRESSES=False, DNS_NAMESERVERS=[f"127.0.0.1:{dns.port}"]) as client,
        ):
            fetched = await client.fetch(site.url(host=host))
            assert fetched.word == "private"
            assert isinstance(fetched.error, PrivateAddressError)
            assert "FETCH_PRIVATE_ADDRESSES" in str(fetched.error)
            assert site.connections == 0

    run(test(), loop)


@each_row("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0"])
@each_row("nameservers", ["", "127.0.0.1:{port}"])
def test_an_address_in_an_old_spelling_leads_nowhere(nameservers: str, host: str) -> None:
    """URLs are resolved before they come here, and then it is an ordinary address."""

    async def test() -> None:
        async with (
            name_server(lambda name: None) as dns,
            serving(answering(OK)) as site,
            Client(
                FETCH_PRIVATE_ADDRESSES=False, DNS_NAMESERVERS=nameservers.format(port=dns.port)
            ) as client,
        ):
            assert (await client.fetch(site.url(host=host))).word in ("private", "dns", "unsupported")
            assert site.connections == 0

    run(test())


def test_a_name_that_changes_its_address_to_a_private_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the first answer may be contacted, the second not."""
    monkeypatch.setattr(resolver, "MIN_TTL_SECONDS", 0.0)
    answers = [["127.0.0.1"]]

    async def test() -> None:
        async with (
            name_server(lambda name: answers[0], ttl=0) as dns,
            serving(answering(OK)) as site,
            Client(FETCH_PRIVATE_ADDRESSES="127.0.0.1", DNS_NAMESERVERS=f"127.0.0.1:{dns.port}") as client,
        ):
            assert (await client.fetch(site.url(host="rebound.example"))).response is not None
            answers[0] = ["127.0.0.2"]
            assert (await client.fetch(site.url(host="rebound.example"))).word == "private"
            assert site.connections == 1

    run(test())


@each_row(
    ("setting", "host", "word"),
    [
        (True, "127.0.0.1", None),
        ("True", "127.0.0.1", None),
        ("1", "127.0.0.1", None),
        (False, "127.0.0.1", "private"),
        ("False", "127.0.0.1", "private"),
        ("", "127.0.0.1", "private"),
        (None, "127.0.0.1", "private"),
        (["127.0.0.0/8"], "127.0.0.1", None),
        ("10.0.0.0/8, 127.0.0.1", "127.0.0.1", None),
        ("10.0.0.0/8,192.168.0.0/16", "127.0.0.1", "private"),
        ("inside.example", "inside.example", None),
    ],
)
def test_the_setting_allows_all_or_networks(setting: Any, host: str, word: str | None) -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: ["127.0.0.1"]) as dns,
            serving(answering(OK)) as site,
            Client(FETCH_PRIVATE_ADDRESSES=setting, DNS_NAMESERVERS=[f"127.0.0.1:{dns.port}"]) as client,
        ):
            assert (await client.fetch(site.url(host=host))).word == word

    run(test())


@each_row("value", ["10.0.0.0/99", "nonsense/", 1.5, {"a": 1}])
def test_a_wrong_setting_is_named(value: object) -> None:
    with pytest.raises(ValueError, match="FETCH_PRIVATE_ADDRESSES"):
        address_rule(value)


def test_a_seeded_host_may_be_private_and_others_stay_refused() -> None:
    async def test() -> None:
        async with serving(answering(OK)) as site, Client(FETCH_PRIVATE_ADDRESSES=False) as client:
            client.seed("seed.localhost")
            client.seed("127.0.0.1")
            for host in ("seed.localhost", "127.0.0.1"):
                assert (await client.fetch(site.url(host=host))).word is None
            client_of_others = Client(FETCH_PRIVATE_ADDRESSES=False)
            assert (await client_of_others.fetch(site.url(host="other.localhost"))).word == "private"
            await client_of_others.handler.close()

    run(test())


SEED = "seed.example"
HERE, THERE = "127.0.0.1", "127.0.0.2"


@pytest.mark.parametrize(
    ("first", "host", "now", "word"),
    [
        # A seed lifts the rule for what it resolved to itself,
        ([HERE], SEED, [HERE], None),
        ([HERE], f"{SEED}.", [HERE], None),
        ([HERE, THERE], SEED, [THERE], None),
        (["10.0.0.5", HERE], SEED, [HERE], None),
        (["::ffff:127.0.0.1", THERE], SEED, [HERE], None),
        (["64:ff9b::7f00:1", THERE], SEED, [HERE], None),
        # under its own name and those below it,
        ([HERE], f"www.{SEED}", [HERE], None),
        # and for nothing else.
        ([HERE], f"www.{SEED}", [THERE], "private"),
        ([HERE], f"www.{SEED}", ["10.0.0.5"], "private"),
        ([HERE], "other.example", [HERE], "private"),
        ([HERE], HERE, [], "private"),
        ([HERE], "localhost", [], "private"),
        ([HERE], "[::1]", [], "private"),
        ([HERE], SEED, [THERE], "private"),
        ([HERE, "fd00::1"], SEED, ["::1"], "private"),
        (["8.8.8.8"], SEED, [HERE], "private"),
        (["8.8.8.8"], f"www.{SEED}", [HERE], "private"),
        (["8.8.8.8", HERE], SEED, [HERE], "private"),
        (["0.0.0.0"], SEED, ["0.0.0.0"], "private"),
        (["0.0.0.0"], SEED, [HERE], "private"),
        (["224.0.0.1", HERE], SEED, ["224.0.0.1"], "private"),
    ],
)
def test_a_seed_lifts_the_rule_for_the_private_addresses_it_resolved_to_at_first_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    first: list[str],
    host: str,
    now: list[str],
    word: str | None,
) -> None:
    """``first``: what the seed resolves to when it is contacted first; ``now``: what ``host`` does later. Each case
    is asked twice: in the process that knows, and in one that was started again."""
    monkeypatch.setattr(resolver, "MIN_TTL_SECONDS", 0.0)
    zone = {SEED: first}

    async def test() -> None:
        async with (
            name_server(lambda name: zone.get(name.rstrip(".")), ttl=0) as dns,
            serving(answering(OK), also_at=[THERE]) as site,
        ):
            for begins in (True, False):
                async with Client(FETCH_PRIVATE_ADDRESSES=0, DNS_NAMESERVERS=f"{HERE}:{dns.port}") as client:
                    client.seed(SEED)
                    seed_addresses(client.crawler).remember_in(kept := KeptSeeds(tmp_path))
                    await kept.recall()
                    if begins:
                        await get_network(client.crawler).places.locate(SEED)
                        zone[host.rstrip(".")] = now
                        assert (tmp_path / NAME).read_text().count("\n") == 1
                    before = site.connections
                    assert (await client.fetch(site.url(host=host))).word == word
                    assert site.connections == before + (word is None)

    run(test())


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('["a.example", ["10.0.0.1"]]\n["c.example"]\nnull\n[1\n["b.exam')

    async def test() -> None:
        kept = KeptSeeds(tmp_path)
        assert await kept.recall() == {"a.example": ["10.0.0.1"], "c.example": []}
        assert await kept.first("a.example", ["10.0.0.2"]) == ["10.0.0.1"]
        assert await kept.first("b.example", []) == ()
        assert await kept.first("b.example", ["10.0.0.3"]) == ["10.0.0.3"]
        await kept.tell(["a.example", "d.example:22"])
        again = KeptSeeds(tmp_path)
        assert (await again.recall())["d.example:22"] == []
        assert await again.first("b.example", ["10.0.0.4"]) == ["10.0.0.3"]
        assert (tmp_path / NAME).read_text().count("a.example") == 1

    run(test())


def test_what_cannot_be_written_down_counts_and_is_written_with_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "later"

    async def test() -> None:
        kept = KeptSeeds(folder)
        assert await kept.first("a.example", ["10.0.0.1"]) == ["10.0.0.1"]
        assert await kept.first("a.example", ["10.0.0.2"]) == ["10.0.0.1"]
        folder.mkdir()
        await kept.first("b.example", ["10.0.0.3"])
        again = KeptSeeds(folder)
        await again.recall()
        assert [await again.first(name, []) for name in ("a.example", "b.example")] == [
            ["10.0.0.1"],
            ["10.0.0.3"],
        ]

    run(test())


def test_a_proxy_may_be_private_but_not_an_address_asked_of_it() -> None:
    async def test() -> None:
        async with serving(answering(OK)) as proxy, Client(FETCH_PRIVATE_ADDRESSES=False) as client:
            meta = {"proxy": proxy.url()}
            assert (await client.fetch("http://a.example/", meta=dict(meta))).word is None
            assert (await client.fetch("http://127.0.0.1:1/", meta=dict(meta))).word == "private"
            assert (await client.fetch("https://[::1]:1/", meta=dict(meta))).word == "private"
            assert proxy.connections == 1

    run(test())
