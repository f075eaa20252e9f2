"""The links of a page, for rules that see at one look that they refuse none of them.

A page has a hundred links and scope a dozen rules, and nearly all answers are the same: asked one by one they cost
more than all else that is done to a link on its way into the frontier.
"""

from __future__ import annotations

from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

from webcrawl.scope.candidate import Candidate
from webcrawl.urls.politeness_key import host_of, port_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
