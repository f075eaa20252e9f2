"""What is used of Scrapy and aiohttp beyond their documentation is still there, and means what it meant."""

from __future__ import annotations

import asyncio
import functools
import inspect
import ssl

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from scrapy.utils._download_handlers import check_stop_download
from scrapy.utils.ssl import _make_ssl_context
from scrapy.utils.test import get_crawler

from tests.unit.fetching.lab import run
from webcrawl.fetching.bandwidth import Bandwidth
from webcrawl.fetching.connection import PageProtocol, SlowLane


def test_the_connector_makes_its_protocols_by_a_factory() -> None:
    async def test() -> None:
        connector = aiohttp.TCPConnector()
        factory = connector._factory
        assert isinstance(factory, functools.partial)
        assert factory.func is ResponseHandler
        assert isinstance(factory(), ResponseHandler)
        await connector.close()

    run(test())


def test_a_connector_connects_by_a_request_and_a_timeout() -> None:
    parameters = list(inspect.signature(aiohttp.TCPConnector.connect).parameters)
    assert parameters == ["self", "req", "traces", "timeout"]
    assert {"protocol", "transport", "release", "close"} <= set(dir(Connection))
    assert "socket_factory" in inspect.signature(aiohttp.TCPConnector).parameters


def test_the_protocol_is_what_the_connector_expects() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        protocol = PageProtocol(loop, set(), SlowLane(loop), Bandwidth())
        assert not protocol.is_connected()
        assert not protocol.should_close
        protocol.close()

    run(test())


def test_scrapy_has_the_functions_that_its_own_handlers_use() -> None:
    crawler = get_crawler()
    assert isinstance(_make_ssl_context(crawler.settings), ssl.SSLContext)
    assert list(inspect.signature(check_stop_download).parameters)[:3] == ["signal", "crawler", "request"]
    assert crawler.signals.sender is crawler


def test_scrapys_setting_for_lost_data_has_its_default_priority() -> None:
    settings = get_crawler().settings
    assert settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
    assert settings.getpriority("DOWNLOAD_FAIL_ON_DATALOSS") == 0
