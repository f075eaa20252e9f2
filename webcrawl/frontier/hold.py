"""Our hold on a politeness key: until when nobody else may contact it.

On a backend of our own that is for ever. On a shared one it is a lease that has to be renewed, and a process
that was frozen, or cut off from the backend, must find out that it ended before it sends another byte.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds on a clock that nobody sets and that also runs while the machine sleeps, where there is one."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True, eq=False)
class Hold:
    """Ends at ``until`` (as told by ``uptime``). A renewal moves it on; a hold that has ended stays ended.

    The backend sets it, counting from the moment *before* the renewing call was sent, less a margin: it ends
    here before it ends there. One object may stand for many keys.
    """

    until: float = math.inf
    others: tuple[Hold, ...] = ()
    """It ends with the first of these, too."""

    @property
    def ends_at(self) -> float:
        """As told by ``uptime``."""
        return min((self.until, *(other.ends_at for other in self.others))) if self.others else self.until

    def is_over(self) -> bool:
        # Where one process has the crawl, this is asked several times a page, and no clock need be.
        return self is not FOREVER and self.ends_at <= uptime()

    def and_of(self, other: Hold) -> Hold:
        """What lasts while both do."""
        if self is FOREVER:
            return other
        return self if other is FOREVER else Hold(others=(self, other))


FOREVER = Hold()
"""Keys of a crawl that has one process."""
