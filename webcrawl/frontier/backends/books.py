"""The URLs of a crawl as its storage knows them, for whoever lists them: the common words of all backends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from webcrawl.frontier.records import State, UrlEntry


class Known(NamedTuple):
    """What the seen test has of a URL."""

    state: State
    rule: str | None
    """By what it was refused or why it failed, where that is stored."""


class Books(Protocol):
    """A storage that is open for reading; nothing is changed in it."""

    states_kept: bool
    """False where the seen test is a Bloom filter, which has no states."""

    def queued(self) -> Iterator[UrlEntry]:
        """Every URL that is queued or leased, key by key, each key in the order of its queue.

        Of a crawl that runs on several workers what changes meanwhile may be there or not.
        """

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        """Those of some URLs of one politeness key that are known; a few hundred at a time."""

    def refused(self) -> Iterator[Sequence[int]]:
        """The fingerprints of all URLs that were refused, some at a time; one may come twice. None where there are no
        states.
        """
