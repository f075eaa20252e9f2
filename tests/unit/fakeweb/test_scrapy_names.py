"""Plain Scrapy finds the fake web's hosts where the system does not know them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[3]
_SPIDER = """
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

from tests.fakeweb import Config, serve_in_process


class Spider(scrapy.Spider):
    name = "plain"

    def parse(self, response):
        sys.stdout.write(f"{response.status} {response.url}")


with serve_in_process(Config(hosts=3, pages=10)) as served:
    process = CrawlerProcess(
        {
            "TWISTED_DNS_RESOLVER": "tests.fakeweb.scrapy_names.LoopbackResolver",
            "LOG_LEVEL": "ERROR",
            "REMOTE_CONTROL_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Spider, start_urls=[f"http://h0002.localhost:{served.port}/"])
    process.start()
"""


@pytest.mark.slow
def test_names_below_localhost_are_loopback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SPIDER], cwd=_ROOT, capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout.startswith("200 http://h0002.localhost:"), done.stderr
