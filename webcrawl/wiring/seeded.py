"""The hosts that the operator named: those of seeds and of URLs that were pushed. They may have private addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.scope.candidate import Candidate

if TYPE_CHECKING:
    from webcrawl.scope.private import PrivateAddressRule

REMEMBERED = 10_000
"""Hosts of seeds that may have a private address without looking like it."""


class SeededHosts:
    """Allows hosts to the rule for private addresses, and keeps what other processes of the crawl have to be told.

    Of very many hosts only those are remembered that are seen to be private without being looked up.
    """

    def __init__(self, rule: PrivateAddressRule) -> None:
        self._rule = rule
        self._hosts: set[str] = set()
        self._news: list[str] = []

    def __len__(self) -> int:
        return len(self._hosts)

    def allow(self, host: str) -> None:
        """The operator named this host here."""
        if host in self._hosts:
            return
        if len(self._hosts) < REMEMBERED or self._rule.refuses(Candidate("", host, "")):
            self.learn(host)
            self._news.append(host)

    def learn(self, host: str) -> None:
        """The operator named this host to another process."""
        if host not in self._hosts:
            self._hosts.add(host)
            self._rule.allow(host)

    def take_news(self) -> list[str]:
        """The hosts that were named here since the last call."""
        news, self._news = self._news, []
        return news
