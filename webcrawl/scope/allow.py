"""Does the URL look like what the operator wants to see?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate


class PatternError(ValueError):
    """A regular expression that is none; the message says what is wrong and where."""


class AllowRule:
    """Refuses URLs in which a regular expression finds nothing (``re.search``)."""

    name = "allow"

    def __init__(self, pattern: str) -> None:
        try:
            self._finds = re.compile(pattern).search
        except re.error as error:
            where = "" if error.pos is None else f" at position {error.pos}"
            raise PatternError(f"{pattern!r} is no regular expression: {error.msg}{where}") from error
        except (OverflowError, RecursionError) as error:
            raise PatternError(f"{pattern!r} is too much for a regular expression: {error}") from error
        self._detail = f"no match for {pattern}"

    def refuses(self, candidate: Candidate) -> str | None:
        return None if self._finds(candidate.url) else self._detail
