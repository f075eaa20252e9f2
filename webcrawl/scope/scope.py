"""The rules of scope, their input and their verdicts, for single URLs and for all links of a page at once.

A page has a hundred links and scope a dozen rules, and nearly all verdicts are the same: evaluating them one by one
costs more than everything else that is done to a link on its way into the frontier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from webcrawl.urls.politeness_key import get_host, port_in

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence


@dataclass(slots=True)
class Candidate:
    """A URL that is to be queued or fetched."""

    url: str
    """The URL in the form of ``urls.resolve``."""
    host: str
    """The host in the form of ``urls.politeness_key.get_host``."""
    key: str
    """The politeness key of the host."""
    depth: int = 0
    """Links followed from a seed; redirects do not count."""
    redirects: int = 0
    """Redirects followed since the last link."""
    linked_from: str | None = None
    """The page or the list that links to it; None for a seed, and for the target of a seed's redirect."""


class LinkBatch:
    """Resolved URLs that were found together, with their common properties.

    ``depth``: of all of them. ``hosts`` and ``keys`` are in the order of ``urls``.
    """

    def __init__(
        self,
        urls: Sequence[str],
        depth: int,
        get_key: Callable[[str], str],
        linked_from: str | None = None,
    ) -> None:
        """``get_key``: returns the politeness key of a host. ``linked_from``: the page that they were found on."""
        self.linked_from = linked_from
        self.urls = urls
        self.depth = depth
        # Most links of a page lead to its own site: facts about a host are computed once.
        authorities = [url.split("/", 3)[2] for url in urls]
        host_at = {authority: get_host(f"http://{authority}/") for authority in set(authorities)}
        key_at = {authority: get_key(host) for authority, host in host_at.items()}
        self.keys = [key_at[authority] for authority in authorities]
        self.different_hosts = set(host_at.values())
        self._authorities, self._host_at = authorities, host_at

    def __len__(self) -> int:
        return len(self.urls)

    @property
    def hosts(self) -> list[str]:
        return [self._host_at[authority] for authority in self._authorities]

    @cached_property
    def different_ports(self) -> set[int]:
        """The ports in the URLs, except the schemes' defaults."""
        return {
            port
            for authority in self._host_at
            if ":" in authority and (port := port_in(authority)) is not None
        }

    @cached_property
    def lines(self) -> str:
        """All URLs, one per line: a resolved URL contains no line end."""
        return "\n".join(self.urls)

    @cached_property
    def slashes_most(self) -> int:
        """The largest number of slashes in a URL."""
        return max(map(str.count, self.urls, repeat("/")), default=0)

    def candidates(self) -> list[Candidate]:
        """Return the links one by one."""
        hosts, depth, page = self.hosts, self.depth, self.linked_from
        return [
            Candidate(url, host, key, depth, linked_from=page)
            for url, host, key in zip(self.urls, hosts, self.keys, strict=True)
        ]


class Rule(Protocol):
    """One reason why a URL may not belong to the crawl."""

    @property
    def name(self) -> str:
        """One word, lower case with hyphens: the name of the rule in logs and reports."""

    def refuses(self, candidate: Candidate) -> str | None:
        """Return None if the rule has no objection, else the objection in a few words.

        It is called for every link of every page: it must not block, and never raises.
        """


@runtime_checkable
class PageRule(Rule, Protocol):
    """A rule that can check all links of a page at once."""

    def refuses_none(self, links: LinkBatch) -> bool:
        """Return True if ``refuses`` certainly objects to none of ``links``, False in doubt."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision of scope on a URL. ``rule`` and ``detail``: which rule refused it and why; None if it is
    allowed.
    """

    allowed: bool
    rule: str | None = None
    detail: str | None = None


ALLOWED = Verdict(allowed=True)


if TYPE_CHECKING:
    Refuses = Callable[[Candidate], str | None]


@dataclass(frozen=True, slots=True)
class Word:
    """The decision of one rule on a URL: ``objection`` is None if it has none."""

    rule: str
    objection: str | None


class Scope:
    """All rules of a crawl in their order. A URL is in scope when none of them objects."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self._questions = [(rule.refuses, rule.name) for rule in self.rules]
        self._glances = [rule.refuses_none if isinstance(rule, PageRule) else None for rule in self.rules]

    def with_rule(self, rule: Rule) -> Scope:
        """Return the same rules with one more at the end."""
        return Scope((*self.rules, rule))

    def without(self, names: Container[str]) -> Scope:
        """Return the same rules without those of these names."""
        return Scope(rule for rule in self.rules if rule.name not in names)

    def verdict(self, candidate: Candidate) -> Verdict:
        """Return the objection of the first rule that objects, or ALLOWED."""
        return _first_objection(self._questions, candidate)

    def words(self, candidate: Candidate) -> list[Word]:
        """Return the decisions of all rules, in their order; the first that objects decides."""
        return [Word(name, refuses(candidate)) for refuses, name in self._questions]

    def refused(self, links: LinkBatch) -> dict[int, Verdict]:
        """Return the verdicts on those of ``links`` that are out of scope, by their positions."""
        left = [
            (rule.refuses, rule.name)
            for rule, refuses_none in zip(self.rules, self._glances, strict=True)
            if refuses_none is None or not refuses_none(links)
        ]
        if not left:
            return {}
        verdicts = {}
        for place, candidate in enumerate(links.candidates()):
            verdict = _first_objection(left, candidate)
            if not verdict.allowed:
                verdicts[place] = verdict
        return verdicts


def _first_objection(questions: Iterable[tuple[Refuses, str]], candidate: Candidate) -> Verdict:
    for refuses, name in questions:
        detail = refuses(candidate)
        if detail is not None:
            return Verdict(False, name, detail)
    return ALLOWED
