"""``scrapy explain`` without a process a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import Settings
from scrapy.utils.project import get_project_settings

from tests.crawl.crawling import AT_ONCE
from webcrawl.config import Configuration
from webcrawl.control.inquiry import Inquiry, Question

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def asking(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str], **given: object
) -> Callable[..., Inquiry]:
    """What asks of one URL after another: the command of a crawl with these arguments and settings (see AT_ONCE)."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    settings = Settings()
    settings.update(get_project_settings())
    for name, value in {**AT_ONCE, **given}.items():
        settings.set(name, value, priority="cmdline")
    configuration = Configuration.from_settings(settings)

    def ask(url: str, **more: str) -> Inquiry:
        return Inquiry(settings, configuration, Question(url, arguments={**arguments, **more}))

    return ask
