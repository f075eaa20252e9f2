"""The pages of a fetch log that may be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.features.usage.statements import is_withheld

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class UsablePages:
    """Leaves out pages that the crawl withheld; with purposes all lines but those of pages that may be used for all
    of them."""

    def __init__(self, purposes: Sequence[str] = (), *, refuses_unknown: bool = False) -> None:
        self._purposes = purposes
        self._refuses_unknown = refuses_unknown
        self.left_out = 0
        """The number of pages that were left out."""

    def admits(self, line: Mapping[str, Any]) -> bool:
        """Return True if a line may be exported."""
        if line.get("withheld") is True:
            return False
        if not self._purposes:
            return True
        usage = line.get("usage")
        verdicts = usage if isinstance(usage, dict) else {}
        is_page = line.get("kind") == "page" and line.get("status") is not None
        return is_page and not is_withheld(verdicts, self._purposes, refuses_unknown=self._refuses_unknown)

    def among(self, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the lines that may be exported, and count the pages that are left out."""
        for line in lines:
            if self.admits(line):
                yield line
            elif line.get("kind") == "page":
                self.left_out += 1
