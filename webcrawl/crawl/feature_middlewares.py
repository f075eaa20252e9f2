"""The places of the features' downloader middlewares in the chain. The class of a middleware is imported if its
feature is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler, load_object

from webcrawl.crawl.context import get_context

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class FeatureMiddleware:
    """The place of a feature's middleware in the chain."""

    feature: ClassVar[str]
    """Name of the feature in the table."""
    middleware: ClassVar[str]
    """Name of a class in the feature's module ``middleware``."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> object:
        """Return the feature's middleware. :raises NotConfigured: the feature is off"""
        if cls.feature not in get_context(crawler).features:
            raise NotConfigured  # no log message: the feature is switched off
        return build_from_crawler(load_object(cls.path()), crawler)

    @classmethod
    def path(cls) -> str:
        """Return the import path of the middleware."""
        return f"webcrawl.features.{cls.feature}.middleware.{cls.middleware}"


class ContentSeenMiddleware(FeatureMiddleware):
    feature, middleware = "content_seen", "ContentSeenMiddleware"


class HintsMiddleware(FeatureMiddleware):
    feature, middleware = "hints", "HintsMiddleware"


class NearDuplicatesMiddleware(FeatureMiddleware):
    feature, middleware = "near_duplicates", "NearDuplicatesMiddleware"


class RefusalsMiddleware(FeatureMiddleware):
    feature, middleware = "refusals", "RefusalsMiddleware"


class RevisitsMiddleware(FeatureMiddleware):
    feature, middleware = "revisits", "RevisitsMiddleware"


class WebsubMiddleware(FeatureMiddleware):
    feature, middleware = "websub", "WebsubMiddleware"
