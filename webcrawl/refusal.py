"""The exceptions for requests that are refused, by a rule of the crawl or by the site: each is an IgnoreRequest that
says why.
"""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest


class Refused(IgnoreRequest):
    """The request is refused. ``rule`` is the name of the rule that decided."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule


class RefusedBySite(IgnoreRequest):
    """The site has refused the request, with a page of status 2xx. ``kind`` is a word of ``refusals.KINDS``."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"the site refuses: {detail}")
        self.kind = kind
