"""The table of features and the places of their middlewares agree with the folders, and with the settings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

import webcrawl.features
import webcrawl.web
from tests.rows import each_row
from webcrawl import settings as components
from webcrawl.crawl import feature_middlewares as middlewares
from webcrawl.crawl.context import get_context
from webcrawl.crawl.feature import Feature
from webcrawl.crawl.feature_table import FURTHER, SHAPING

if TYPE_CHECKING:
    from webcrawl.crawl.feature_middlewares import FeatureMiddleware
    from webcrawl.crawl.feature_table import Entry

NAMES = [entry.name for entry in (*SHAPING, *FURTHER)]
PLACES = [
    variable
    for variable in vars(middlewares).values()
    if isinstance(variable, type) and hasattr(variable, "middleware")
]


class Plain(Spider):
    name = "plain"


class Continuous(Spider):
    name = "continuous"
    custom_settings = {"CRAWL_MODE": "continuous", "WEBSUB_CALLBACK_URL": "https://us.test/"}  # noqa: RUF012


def crawler_of(spider: type[Spider]) -> Crawler:
    given = Settings({"FRONTIER_BACKEND": "memory"})
    given.setmodule(components)
    given.set("FRONTIER_BACKEND", "memory", "cmdline")
    crawler = Crawler(spider, given)
    crawler.spider = spider()
    return crawler


def test_each_folder_of_a_feature_has_a_line_in_the_table() -> None:
    """A folder without ``build`` has what several features share."""
    folders = (Path(room.__file__).parent for room in (webcrawl.features, webcrawl.web))
    assert sorted(NAMES) == sorted(
        path.parent.name
        for folder in folders
        for path in folder.glob("*/feature.py")
        if "\ndef build(" in path.read_text(encoding="utf-8")
    )


@each_row("entry", [*SHAPING, *FURTHER], ids=lambda entry: entry.name)
def test_each_feature_is_built_by_its_module(entry: Entry) -> None:
    module = import_module(entry.module or f"webcrawl.features.{entry.name}.feature")
    assert callable(module.build)
    kinds = [
        variable
        for variable in vars(module).values()
        if isinstance(variable, type) and issubclass(variable, Feature)
    ]
    assert [kind.__name__ for kind in kinds if kind.__module__ == module.__name__] != []


@each_row("place", PLACES, ids=lambda place: place.__name__)
def test_each_place_is_in_the_chain_and_has_a_middleware(place: type[FeatureMiddleware]) -> None:
    assert place.feature in NAMES
    assert f"{place.__module__}.{place.__name__}" in components.DOWNLOADER_MIDDLEWARES_BASE
    assert isinstance(load_object(place.path()), type)


@pytest.mark.parametrize("spider", [Plain, Continuous])
def test_the_settings_of_a_spider_switch_features_on(spider: type[Spider]) -> None:
    crawler = crawler_of(spider)
    features = get_context(crawler).features
    for place in PLACES:
        if place.feature in features:
            made: Any = place.from_crawler(crawler)
            assert isinstance(made, load_object(place.path()))
        else:
            with pytest.raises(NotConfigured):
                place.from_crawler(crawler)
    assert ("websub" in features, "hints" in features) == (spider is Continuous,) * 2
    assert [name for name in NAMES if name in features][:2] == ["traps", "usage"]
