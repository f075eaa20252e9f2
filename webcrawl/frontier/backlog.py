"""A storage whose byte budget is nearly used up: what is said of it, and what is counted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from webcrawl.frontier.backend import QUEUE_FULL, Committed, Filling, Room
from webcrawl.frontier.tally import Tally

BACKLOG_FULL = "backlog-full"
"""The rule by which URLs are refused for which there is no place in the storage."""

logger = logging.getLogger(__name__)

_SAID = {
    Room.SCARCE: "The storage is nearly full (%s): new URLs of the lowest levels are turned away until there is room",
    Room.FULL: "The storage is full (%s): new URLs are turned away, and the ends of long queues are pruned",
    Room.PLENTY: "There is room in the storage again (%s): all new URLs are taken",
}


class Backlog:
    """What this process heard last of the room in a storage that several processes share.

    Each thing is logged the first time only, since a crawl without end comes and goes at the mark; the line of
    statistics says how it stands.
    """

    def __init__(
        self,
        tally: Tally,
        forget: Callable[[], None],
        may_return: Callable[[Sequence[int]], None] = lambda fingerprints: None,
    ) -> None:
        """``forget`` is called when what was turned away may be offered again, ``may_return`` with the fingerprints
        of what was pruned from full queues, which may be offered again too."""
        self._tally = tally
        self._may_return = may_return
        self._forget = forget
        self._filling: Filling | None = None
        self._room = Room.PLENTY
        self._said: set[Room] = set()
        self.crowded: str | None = None
        """How full the storage is, in words; None while there is room for all."""

    def heard(self, filling: Filling | None) -> None:
        """A look was taken; None where there is no budget."""
        self._filling = filling
        room = Room.PLENTY if filling is None else filling.room
        self.crowded = None if filling is None or room is Room.PLENTY else _in_words(filling)
        if room is self._room:
            return
        if room is Room.PLENTY:
            self._forget()
        self._room = room
        if room not in self._said:
            self._said.add(room)
            logger.warning(_SAID[room], "no budget" if filling is None else _in_words(filling))

    def figures(self) -> dict[str, float]:
        """For the others and for people; nothing where there is no budget."""
        if self._filling is None:
            return {}
        return {
            "used_bytes": self._filling.used_bytes,
            "budget_bytes": self._filling.budget_bytes,
            "backlog_full": self._tally.refused_by_rule[BACKLOG_FULL],
        }

    def committed(self, committed: Committed) -> None:
        """Count what a commit had no place for, and let it be offered again."""
        if committed.may_return:
            self._may_return(committed.may_return)
        for rule, urls in (
            (QUEUE_FULL, committed.pruned),
            (BACKLOG_FULL, committed.turned_away + committed.crowded_out),
        ):
            if urls:
                self._tally.refusals += urls
                self._tally.refused_by_rule[rule] += urls


def _in_words(filling: Filling) -> str:
    share = 100 * filling.used_bytes / filling.budget_bytes
    return f"{share:.0f} % of {filling.budget_bytes / 1e6:,.0f} MB"
