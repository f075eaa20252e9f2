"""A machine without files, ports or buffers to spare waits: no host is charged with it, and no URL fails."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, answering, run, serving
from tests.unit.fetching.nameserver import name_server
from webcrawl.fetching.failures import LocalShortageError
from webcrawl.fetching.network import get_network
from webcrawl.fetching.shortage import (
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    OVER_SECONDS,
    Shortage,
    scarce,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohappyeyeballs import AddrInfoType

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HERE: AddrInfoType = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
NOWHERE: AddrInfoType = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("255.255.255.255", 80))
"""UDP is not sent there without being asked for in so many words: it stands for an address without a way to it."""


@contextmanager
def no_files() -> Iterator[None]:
    """Within it no file can be opened by this process, also when one is closed meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def files_used_up() -> Iterator[None]:
    """Within it a file can be opened only when another one is closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 1, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in held:
            os.close(file)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_request_waits_for_a_file_and_nobody_hears_of_it(
    loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with serving(answering(OK)) as site, Client(DOWNLOAD_TIMEOUT=0.5) as client:
            get_network(client.crawler)
            with no_files():
                waiting = [
                    asyncio.ensure_future(client.fetch(site.url(f"/{number}", f"h{number}.localhost")))
                    for number in range(5)
                ]
                # Longer than a request may take.
                await asyncio.sleep(0.7)
                assert not any(task.done() for task in waiting)
            for task in waiting:
                fetched = await task
                assert fetched.response is not None, fetched.error
                assert fetched.response.body == b"ok"
            assert site.connections == 5

    with caplog.at_level(logging.WARNING):
        run(test(), loop)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "files that this process may have open" in said[0]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_name_is_looked_up_when_there_is_a_file_to_ask_with(loop: str) -> None:
    async def test() -> None:
        async with (
            name_server(lambda name: ["127.0.0.1"]) as names,
            serving(answering(OK)) as site,
            Client(DNS_NAMESERVERS=[f"127.0.0.1:{names.port}"]) as client,
        ):
            places = get_network(client.crawler).places
            with no_files():
                waiting = asyncio.ensure_future(client.fetch(site.url(host="a.example")))
                place = asyncio.ensure_future(places.locate("b.example"))
                await asyncio.sleep(0.3)
                assert not waiting.done()
                assert not place.done()
            assert (await waiting).response is not None
            assert await place == "127.0.0.1"

    run(test(), loop)


def test_idle_connections_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with serving(answering(OK)) as site, Client() as client:
            await client.fetch(site.url(host="a.localhost"))
            assert client.idle_connections == 1
            with files_used_up():
                fetched = await client.fetch(site.url(host="b.localhost"))
            assert fetched.response is not None

    run(test(), "asyncio")


def test_a_request_that_waited_long_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webcrawl.fetching.transfer.SHORTAGE_PATIENCE_SECONDS", 0.1)

    async def test() -> None:
        async with serving(answering(OK)) as site, Client() as client:
            get_network(client.crawler)
            with no_files():
                fetched = await client.fetch(site.url())
            assert isinstance(fetched.error, LocalShortageError)
            assert fetched.word == "cancelled"
            assert site.connections == 0

    run(test())


@each_row(
    ("error", "tried", "number"),
    [
        (OSError(errno.EMFILE, "x"), [], errno.EMFILE),
        (OSError(errno.ENFILE, "x"), [HERE], errno.ENFILE),
        (OSError(errno.ENOBUFS, "x"), [HERE], errno.ENOBUFS),
        (OSError(errno.ENOMEM, "x"), [HERE], errno.ENOMEM),
        (OSError(errno.EADDRNOTAVAIL, "x"), [HERE], errno.EADDRNOTAVAIL),
        (OSError(errno.EADDRNOTAVAIL, "x"), [NOWHERE, HERE], errno.EADDRNOTAVAIL),
        (OSError(errno.EADDRNOTAVAIL, "x"), [NOWHERE], None),
        (OSError("Multiple exceptions: [Errno 111] a, [Errno 24] b"), [HERE], errno.EMFILE),
        (OSError("Multiple exceptions: [Errno 111] a, [Errno 99] b"), [HERE], None),
        (OSError("Multiple exceptions: [Errno 99] a, [Errno 99] b"), [HERE], errno.EADDRNOTAVAIL),
        (OSError(errno.ECONNREFUSED, "x"), [HERE], None),
        (OSError(errno.ENETUNREACH, "x"), [HERE], None),
        (OSError(None, "x.example: no address"), [], None),
        (OSError(), [], None),
    ],
    ids=repr,
)
def test_what_the_machine_lacks_is_told_from_what_a_host_does(
    error: OSError, tried: list[AddrInfoType], number: int | None
) -> None:
    assert scarce(error, tried) == number


def test_pauses_grow_while_they_help_nobody_and_it_is_told_twice(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    shortage = Shortage(lambda: now)
    pauses = []
    with caplog.at_level(logging.WARNING):
        for _ in range(7):
            shortage.note(errno.EMFILE)
            shortage.note(errno.EMFILE)
            pauses.append(shortage.left)
            now += shortage.left
        assert pauses[0] == pytest.approx(FIRST_PAUSE_SECONDS)
        assert pauses[1] == pytest.approx(2 * FIRST_PAUSE_SECONDS)
        assert pauses[-1] == pytest.approx(LONGEST_PAUSE_SECONDS)
        shortage.opened()
        shortage.note(errno.EMFILE)
        assert shortage.left == pytest.approx(FIRST_PAUSE_SECONDS)
        now += OVER_SECONDS
        shortage.opened()
        shortage.opened()
    assert len(caplog.records) == 2
    assert "again" in caplog.records[1].getMessage()
