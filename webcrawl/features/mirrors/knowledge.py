"""The pairs of hosts that a crawl knows as mirrors, and the scope rule that refuses URLs of mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.features.mirrors.evidence import split
from webcrawl.features.mirrors.pair import ENDED, MirrorPair, MirrorState
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webcrawl.features.mirrors.evidence import Sign
    from webcrawl.scope.scope import Candidate, LinkBatch

OPEN_PER_ORIGIN, OPEN_IN_ALL = 4, 200
"""Pairs that are being proved."""
PAIRS_IN_ALL = 5000
"""Pairs that are stored, with those that were refuted; no more candidates are taken then."""
ADMITTED_MAX = 50_000
"""Queued URLs of mirrors that are withheld and stored, until their turn comes."""

MIRROR = "mirror"


class MirrorKnowledge:
    """The pairs of a crawl. A host has at most one that is applied in which it is the mirror."""

    def __init__(self) -> None:
        self.pairs: dict[str, MirrorPair] = {}
        """By their ids."""
        self._by_origin: dict[str, dict[str, MirrorPair]] = {}
        self.mirrors: dict[str, MirrorPair] = {}
        """The pairs that are applied, by the mirror."""

    def has(self, origin: str) -> bool:
        """Return whether a host belongs to a pair that is being proved, or applied."""
        return origin in self._by_origin

    def of(self, origin: str) -> list[MirrorPair]:
        """Return the pairs of a host that are being proved, applied or doubted."""
        return list(self._by_origin.get(origin, {}).values())

    def applied(self, origin: str) -> list[MirrorPair]:
        """Return the applied pairs of a host."""
        return [pair for pair in self.of(origin) if pair.state is MirrorState.CONFIRMED]

    def open_pairs(self) -> Iterator[MirrorPair]:
        """Yield the pairs that are being proved."""
        return (pair for pair in list(self.pairs.values()) if pair.state is MirrorState.PROVING)

    def candidate(self, one: str, other: str, signs: Iterable[Sign], now: float) -> MirrorPair | None:
        """Return a new pair of two hosts that have signs in common; None if it is known, or there is no room, or one
        of them is a mirror of another host by now."""
        first, mirror = sorted((one, other))
        pair = MirrorPair(first, mirror, MirrorState.PROVING, now, tuple(sorted(signs)))
        if pair.id in self.pairs or len(self.pairs) >= PAIRS_IN_ALL or {one, other} & set(self.mirrors):
            return None
        if len(list(self.open_pairs())) >= OPEN_IN_ALL:
            return None
        for origin in (one, other):
            if sum(each.state is MirrorState.PROVING for each in self.of(origin)) >= OPEN_PER_ORIGIN:
                return None
        self.put(pair)
        return pair

    def confirm(self, pair: MirrorPair, first: str, now: float) -> list[MirrorPair]:
        """Apply a pair that is proved. Return the pairs that end thereby: those of a host that is now a mirror."""
        if pair.other(first) in self.mirrors or first in self.mirrors:
            pair.end(MirrorState.REFUTED, "one of them is a mirror of another host", now)
            self.put(pair)
            return []
        pair.confirm(first, now)
        self.put(pair)
        ended = [
            other
            for other in self.of(pair.mirror)
            if other is not pair and other.state is MirrorState.PROVING
        ]
        for other in ended:
            other.end(MirrorState.REFUTED, f"{pair.mirror} is a mirror of {pair.first}", now)
            self.put(other)
        return ended

    def put(self, pair: MirrorPair) -> None:
        """Take a pair that is new, or whose state changed."""
        self.pairs[pair.id] = pair
        applied = self.mirrors.get(pair.mirror)
        if pair.state is MirrorState.CONFIRMED:
            self.mirrors[pair.mirror] = pair
        elif applied is not None and applied.id == pair.id:
            del self.mirrors[pair.mirror]
        for origin in (pair.first, pair.mirror):
            pairs = self._by_origin.setdefault(origin, {})
            if pair.state in ENDED:
                pairs.pop(pair.id, None)
            else:
                pairs[pair.id] = pair
            if not pairs:
                del self._by_origin[origin]

    def load(self, stored: Iterable[MirrorPair]) -> list[MirrorPair]:
        """Load pairs that were stored by an earlier run or by another process. Return those that are new here, and
        those whose state changed."""
        changed = []
        for pair in stored:
            known = self.pairs.get(pair.id)
            if known is None:
                self.put(pair)
                changed.append(pair)
                continue
            known.equal |= pair.equal
            known.later, known.probes = max(known.later, pair.later), max(known.probes, pair.probes)
            known.withheld, known.samples = pair.withheld, max(known.samples, pair.samples)
            known.checked = pair.checked
            # A doubt is known to one process; the others go on until it is decided.
            is_doubt = known.state is MirrorState.DOUBTED and pair.state is MirrorState.CONFIRMED
            is_other = known.state is not pair.state or (
                known.first != pair.first and pair.state is MirrorState.CONFIRMED
            )
            if (
                is_other
                and known.state not in ENDED
                and not is_doubt
                and pair.state is not MirrorState.PROVING
            ):
                self._forget(known)
                known.first, known.mirror = pair.first, pair.mirror
                known.state, known.since, known.why = pair.state, pair.since, pair.why
                known.doubt = None
                self.put(known)
                changed.append(known)
        return changed

    def _forget(self, pair: MirrorPair) -> None:
        if self.mirrors.get(pair.mirror) is pair:
            del self.mirrors[pair.mirror]


class MirrorScopeRule:
    """Scope rule that refuses URLs that are stored as withheld when their turn comes. Links are taken out of their
    pages by the feature, which asks the storage."""

    name = MIRROR

    def __init__(self, knowledge: MirrorKnowledge, *, refuses_links: bool = False) -> None:
        """``refuses_links``: True to explain URLs that are stored as withheld, wherever they were found."""
        self._knowledge = knowledge
        self._refuses_links = refuses_links
        self._stored: set[int] = set()

    def refuse_once(self, url: str) -> bool:
        """Refuse a URL that is stored as withheld when its turn comes. Return False if there is no room."""
        if len(self._stored) >= ADMITTED_MAX:
            return False
        self._stored.add(fingerprint(url))
        return True

    def is_stored(self, url: str) -> bool:
        """Return whether a URL is refused when its turn comes."""
        return bool(self._stored) and fingerprint(url) in self._stored

    def admit(self, url: str) -> None:
        """Let a URL pass that is queued again."""
        self._stored.discard(fingerprint(url))

    def clear(self) -> None:
        """Let all URLs pass."""
        self._stored.clear()

    def refuses(self, candidate: Candidate) -> str | None:
        if not self._stored or (candidate.linked_from is not None and not self._refuses_links):
            return None
        if not self.is_stored(candidate.url):
            return None
        parts = split(candidate.url)
        pairs = [] if parts is None else self._knowledge.applied(parts[0])
        if not pairs:
            return None
        if not self._refuses_links:
            self.admit(candidate.url)
        known = pairs[0].counterpart(candidate.url)
        return f"the page of {known}: {pairs[0]}; scrapy mirrors --undo {pairs[0].id} undoes it"

    def refuses_none(self, links: LinkBatch) -> bool:
        return not self._refuses_links or not self._stored
