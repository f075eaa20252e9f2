"""Commands on the crawl of a module, its fixture ``crawled``."""

from __future__ import annotations

import pytest

from tests.commands import in_process


@pytest.fixture
def links(crawled, capsys):
    """``scrapy links`` on the module's crawl."""
    return in_process("links", capsys, JOBDIR=crawled.path)
