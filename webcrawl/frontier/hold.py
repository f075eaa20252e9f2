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

    def is_over(self) -> bool:
        return self.until <= uptime()


FOREVER = Hold()
"""Keys of a crawl that has one process."""
