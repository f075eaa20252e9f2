"""The small crawl of a module that makes none of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.frontier.small_crawl import SmallCrawl

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def crawl() -> Iterator[SmallCrawl]:
    """A frontier on a backend in memory; at the end, an error of its tasks fails the test."""
    crawl = SmallCrawl()
    yield crawl
    crawl.dispose()
