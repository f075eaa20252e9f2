"""Two hosts that may be mirrors, judged by pages that both have: nothing is believed before eight are equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from webcrawl.features.mirrors.evidence import PageMark

PAGES = 8
"""Equal pages, all different from each other, that prove a pair."""
LATER = 5
"""Of these, those whose second page was fetched after the hosts became candidates."""
PROBES_AT_ONCE, PROBES_MAX = 4, 24
"""Paths that are fetched from one host because the other one has them: at a time, and in all."""
PROBE_SECONDS = 600.0
"""Time after which a probe that was not answered does not count as open."""
DOUBT_SECONDS = 600.0
"""Time after which a doubted pair is undone, if the page of the first host did not come again."""


class MirrorState(StrEnum):
    """The state of a pair."""

    PROVING = "proving"
    CONFIRMED = "confirmed"
    DOUBTED = "doubted"
    """A page differed, and that of the first host is fetched again; nothing is withheld meanwhile."""
    REFUTED = "refuted"
    UNDONE = "undone"


ENDED = frozenset({MirrorState.REFUTED, MirrorState.UNDONE})
"""The states of pairs that are never applied again."""


class Doubt(NamedTuple):
    """A page of the mirror that differs from that of the first host."""

    page: PageMark
    known: PageMark
    at: float


@dataclass(slots=True, eq=False)
class MirrorPair:
    """Two hosts with their state."""

    first: str
    """The host that is fetched; until the pair is proved, either of the two."""
    mirror: str
    state: MirrorState
    since: float
    """Epoch seconds."""
    signs: tuple[str, ...] = ()
    """By which they became candidates."""
    equal: dict[str, str] = field(default_factory=dict)
    """The different contents that both hosts have, each with a path."""
    later: int = 0
    """Of these, those that came after the hosts became candidates."""
    probes: int = 0
    samples: int = 0
    """Pages that came from both hosts after the proof, and were equal."""
    withheld: int = 0
    """URLs of either host that are withheld; nearly all are the mirror's."""
    checked: int = 0
    """Of these, those that were there when all were last looked over because the crawl was idle."""
    why: str = ""
    """Why it was refuted or undone."""
    doubt: Doubt | None = field(default=None, repr=False)
    open_probes: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that identify the pair, whichever host is the first."""
        return f"{fingerprint(chr(10).join(sorted((self.first, self.mirror)))) & 0xFFFFFFFF:08x}"

    @property
    def is_proved(self) -> bool:
        """True if there are enough equal pages."""
        return len(self.equal) >= PAGES and self.later >= LATER

    @property
    def unchecked(self) -> int:
        """The number of withheld URLs that were not looked over."""
        return max(self.withheld - self.checked, 0)

    def other(self, origin: str) -> str:
        """Return the other host."""
        return self.mirror if origin == self.first else self.first

    def counterpart(self, url: str) -> str:
        """Return the URL of the other host with the same path."""
        mirror = f"{self.mirror}/"
        return (
            self.first + url[len(mirror) - 1 :]
            if url.startswith(mirror)
            else self.mirror + url[len(self.first) :]
        )

    def __str__(self) -> str:
        return f"{self.mirror} has the pages of {self.first}"

    def compare(self, origin: str, page: PageMark, known: PageMark, now: float) -> bool:
        """Compare a page of ``origin`` that was fetched with that of the other host under the same path. Return
        whether the state of the pair changed, or its proof."""
        self.open_probes.pop(page.target, None)
        if page.is_missing or known.is_missing:
            # A mirror may have pages of its own, and nothing is lost of one that lacks a page.
            return False
        if page.may_equal(known) and not page.equals(known):
            return False
        match self.state:
            case MirrorState.PROVING:
                return self._prove(page, known, now)
            case MirrorState.CONFIRMED:
                return self._sample(origin, page, known, now)
            case MirrorState.DOUBTED:
                return self._decide(origin, page, now)
            case _:
                return False

    def _prove(self, page: PageMark, known: PageMark, now: float) -> bool:
        if not page.equals(known):
            self.end(MirrorState.REFUTED, f"{page.target} differs", now)
            return True
        content = f"{page.body:016x}"
        if content in self.equal or page.target in self.equal.values():
            return False
        self.equal[content] = page.target
        self.later += page.at >= self.since
        return True

    def confirm(self, first: str, now: float) -> None:
        """Apply the pair from now on: URLs of the other host than ``first`` are withheld."""
        self.first, self.mirror = first, self.other(first)
        self.state, self.since = MirrorState.CONFIRMED, now
        self.open_probes = {}

    def _sample(self, origin: str, page: PageMark, known: PageMark, now: float) -> bool:
        if page.equals(known):
            self.samples += 1
            return False
        of_mirror, of_first = (page, known) if origin == self.mirror else (known, page)
        self.state, self.doubt = MirrorState.DOUBTED, Doubt(of_mirror, of_first, now)
        return True

    def _decide(self, origin: str, page: PageMark, now: float) -> bool:
        """Compare the page of the first host, fetched again, with the one that differed: it may have changed."""
        doubt = self.doubt
        if doubt is None or origin != self.first or page.target != doubt.page.target or page.at < doubt.at:
            return False
        self.doubt = None
        if doubt.page.equals(page):
            self.state = MirrorState.CONFIRMED
        else:
            self.end(MirrorState.UNDONE, f"{page.target} differs", now)
        return True

    def expire(self, now: float) -> bool:
        """Undo a pair that is doubted for too long; return whether it was."""
        for target, at in list(self.open_probes.items()):
            if now - at > PROBE_SECONDS:
                del self.open_probes[target]
        if (
            self.state is not MirrorState.DOUBTED
            or self.doubt is None
            or now - self.doubt.at <= DOUBT_SECONDS
        ):
            return False
        self.end(MirrorState.UNDONE, f"{self.doubt.page.target} differs", now)
        return True

    def end(self, state: MirrorState, why: str, now: float) -> None:
        """Refute or undo the pair."""
        self.state, self.since, self.why = state, now, why
        self.doubt, self.open_probes, self.checked = None, {}, 0

    def probes_wanted(self) -> int:
        """Return how many paths may be fetched now to prove the pair."""
        if self.state is not MirrorState.PROVING:
            return 0
        missing = max(PAGES - len(self.equal), LATER - self.later)
        return min(missing, PROBES_AT_ONCE) - len(self.open_probes) if self.probes < PROBES_MAX else 0
