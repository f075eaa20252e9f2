"""Settings of hints: what sitemaps and feeds say of pages that are known."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.configuration.readers import real, switch
from webcrawl.configuration.setting import setting


@dataclass(frozen=True, kw_only=True)
class HintSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    hints_follow: bool = setting(
        switch(), True, "", "whether pages are due earlier that a sitemap or feed says have changed"
    )
    hints_trust_min: float = setting(
        real(0, 1), 0.25, "", "share of a host's claims that must prove true, or none of them counts"
    )
