"""The certificate of a response over TLS, as a spider sees it."""

from __future__ import annotations

import json

import pytest

from tests.fakeweb.tls import self_signed
from tests.install import home

SPIDERS = """
from scrapy import Spider


class Certificates(Spider):
    name = "certificates"

    def __init__(self, *args, url="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [url]

    def parse(self, response):
        certificate = response.certificate
        yield {"subject": certificate.getSubject().commonName.decode(), "serial": certificate.serialNumber()}
"""


@pytest.mark.parametrize("addon", [False, True])
def test_a_spider_gets_the_certificate_of_its_response(folder, addon):
    context, _ = self_signed(["site.example"])
    project = home.bare(folder / f"tls{addon}", spiders=SPIDERS, addon=addon)
    with home.served({"/": home.page()}, context) as site:
        done = project.scrapy("crawl", "certificates", "-a", f"url={site.origin}/", "-O", "-:jsonlines")

    assert done.status == 0, done.err
    (item,) = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    assert item["subject"] == "fakeweb"
    assert item["serial"] > 0
