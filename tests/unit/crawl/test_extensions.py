"""Documents that nothing in a crawl reads are not requested, by their extension."""

from __future__ import annotations

from types import SimpleNamespace

from scrapy.settings import Settings

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.crawl.rules import extensions_refused
from webcrawl.scope.url_rules import DOCUMENT_TYPES, USELESS_EXTENSIONS

TEXT, PDF = "webcrawl.processing.modules.PlainText", "webcrawl.processing.pdf.Pdf"


@each_row(
    ("settings", "focus", "read"),
    [
        ({}, None, set()),
        ({"PROCESSING_MODULES": [TEXT]}, None, {"txt", "csv", "tsv"}),
        # Its body would be cancelled.
        ({"PROCESSING_MODULES": [PDF]}, None, set()),
        ({"PROCESSING_MODULES": [PDF], "MIME_TYPES_WANTED": ["text/html", "application/pdf"]}, None, {"pdf"}),
        ({"MIME_TYPES_WANTED": ["text/*"]}, None, {"txt", "csv", "tsv"}),
        ({"MIME_TYPES_WANTED": ["*/*"]}, None, set(DOCUMENT_TYPES)),
        ({"ARCHIVE_COMPLETE_PAGES": True}, None, set(DOCUMENT_TYPES)),
        ({}, "mime:video/*,application/pdf", {"pdf"}),
        ({"FOCUS": "mime:application/pdf"}, None, {"pdf"}),
        ({}, "telescopes", set()),
    ],
)
def test_what_is_read_is_requested(settings, focus, read):
    configuration = Configuration.from_settings(Settings(settings))
    refused = set(extensions_refused(configuration, SimpleNamespace(focus=focus)))
    assert refused - set(USELESS_EXTENSIONS) == set(DOCUMENT_TYPES) - read
    assert not refused & {"xml", "rss", "html", "php", "md"}


def test_a_list_of_ones_own_is_taken_as_it_is():
    configuration = Configuration.from_settings(Settings({"EXTENSIONS_REFUSED": ["zip"]}))
    assert extensions_refused(configuration, SimpleNamespace()) == ("zip",)
