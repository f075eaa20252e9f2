"""What a rule of scope is, and what comes of asking.

What scope is asked about.

The rules of a crawl, asked one after the other; the one that decided is remembered.

The links of a page, for rules that see at one look that they refuse none of them.

A page has a hundred links and scope a dozen rules, and nearly all answers are the same: asked one by one they cost
more than all else that is done to a link on its way into the frontier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from webcrawl.urls.politeness_key import host_of, port_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(slots=True)
class Candidate:
    """A URL that wants to be queued or fetched."""

    url: str
    """As ``urls.resolve`` returns it."""
    host: str
    """As ``urls.politeness_key.host_of`` returns it."""
    key: str
    """Its politeness key."""
    depth: int = 0
    """Links followed from a seed; redirects do not count."""
    redirects: int = 0
    """Redirects followed since the last link."""
    linked_from: str | None = None
    """The page or the list that leads there; None for a seed, and for where a seed redirects to."""


class Links:
    """Some resolved URLs that were found together, and what they have in common.

    ``depth``: of all of them. ``hosts`` and ``keys`` are in the order of ``urls``.
    """

    def __init__(
        self,
        urls: Sequence[str],
        depth: int,
        key_of: Callable[[str], str],
        linked_from: str | None = None,
    ) -> None:
        """``key_of``: the politeness key of a host. ``linked_from``: the page that they were found on."""
        self.linked_from = linked_from
        self.urls = urls
        self.depth = depth
        # Most links of a page lead to its own site: what is to be known of a host is found out once.
        authorities = [url.split("/", 3)[2] for url in urls]
        host_at = {authority: host_of(f"http://{authority}/") for authority in set(authorities)}
        key_at = {authority: key_of(host) for authority, host in host_at.items()}
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
        """The ports that are named; those of the schemes are not."""
        return {
            port
            for authority in self._host_at
            if ":" in authority and (port := port_in(authority)) is not None
        }

    @cached_property
    def lines(self) -> str:
        """All URLs, one a line: a resolved URL has no line end in it."""
        return "\n".join(self.urls)

    @cached_property
    def slashes_most(self) -> int:
        """The slashes in the URL that has most of them."""
        return max(map(str.count, self.urls, repeat("/")), default=0)

    def candidates(self) -> list[Candidate]:
        """The links one by one."""
        hosts, depth, page = self.hosts, self.depth, self.linked_from
        return [
            Candidate(url, host, key, depth, linked_from=page)
            for url, host, key in zip(self.urls, hosts, self.keys, strict=True)
        ]


class Rule(Protocol):
    """One reason why a URL may not belong to the crawl."""

    @property
    def name(self) -> str:
        """One word, lower case with hyphens: what logs and reports call the rule."""

    def refuses(self, candidate: Candidate) -> str | None:
        """Return None when the rule has no objection, else what it objects to, in a few words.

        It is asked for every link of every page: it must not block, and never raises.
        """


@runtime_checkable
class PageRule(Rule, Protocol):
    """A rule that can look at all links of a page at once."""

    def refuses_none(self, links: Links) -> bool:
        """Whether it is plain to see that ``refuses`` would object to none of ``links``. In doubt False."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What scope says to a URL. ``rule`` and ``detail``: which rule refused it and why; None when allowed."""

    allowed: bool
    rule: str | None = None
    detail: str | None = None


ALLOWED = Verdict(allowed=True)


if TYPE_CHECKING:
    Refuses = Callable[[Candidate], str | None]


@dataclass(frozen=True, slots=True)
class Word:
    """What one rule says to a URL: ``objection`` is None when it has none."""

    rule: str
    objection: str | None


class Scope:
    """All rules of a crawl in their order. A URL is in scope when none of them objects."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self._questions = [(rule.refuses, rule.name) for rule in self.rules]
        self._glances = [rule.refuses_none if isinstance(rule, PageRule) else None for rule in self.rules]

    def with_rule(self, rule: Rule) -> Scope:
        """The same rules and one more behind them."""
        return Scope((*self.rules, rule))

    def verdict(self, candidate: Candidate) -> Verdict:
        """Return what the first rule that objects says, or ALLOWED."""
        return _first_objection(self._questions, candidate)

    def words(self, candidate: Candidate) -> list[Word]:
        """Return what every rule says, in their order; the first that objects is the one that decides."""
        return [Word(name, refuses(candidate)) for refuses, name in self._questions]

    def refused(self, links: Links) -> dict[int, Verdict]:
        """Return the verdicts on those of ``links`` that are out of scope, by their places."""
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
