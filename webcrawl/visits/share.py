"""The share of requests that goes to pages that are due, while they compete with new ones."""

from __future__ import annotations


class Share:
    """Grants pages to be visited again by how many new ones were fetched: a bucket of tokens.

    A page may be taken on credit, at most as many at a time as one key gives; it is paid back before the next is.
    """

    def __init__(self, share: float, most: float) -> None:
        """``share``: 0 to 1, of all pages; ``most``: what may be saved up, in pages."""
        self._each = share / (1 - share) if share < 1 else float("inf")
        self._most = most
        self._saved = most if share == 1 else 0.0

    def fetched(self, new: int) -> None:
        """So many new pages were fetched since the last time."""
        if new and self._each:
            self._saved = min(self._saved + new * self._each, self._most)

    def spend(self, pages: int) -> None:
        """So many pages were taken."""
        if self._each != float("inf"):
            self._saved -= pages

    def lapse(self, most: int) -> None:
        """What was saved up beyond ``most`` pages is granted no more."""
        if self._each != float("inf"):
            self._saved = min(self._saved, most)

    @property
    def granted(self) -> int:
        """How many pages may be taken now."""
        return max(int(self._saved), 0)
