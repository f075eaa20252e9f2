"""The exception by which a middleware or a download handler refuses a request: an IgnoreRequest that names the
rule.
"""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest


class Refused(IgnoreRequest):
    """The request is refused. ``rule`` is the name of the rule that decided."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule
