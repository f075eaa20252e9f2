"""Shortage of this machine's resources for new connections: files, local ports, buffers.

New connections wait until there are enough again, and no host is charged with the failure.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import socket
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aiohappyeyeballs import AddrInfoType

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0
"""The first and the longest pause in seconds during which no connection is opened after a shortage."""
OVER_SECONDS = 10.0
"""A shortage is over after so many seconds in which connections could be opened and none had to wait."""

_SCARCE = {
    errno.EMFILE: "files that this process may have open (ulimit -n)",
    errno.ENFILE: "files that this machine may have open",
    errno.ENOBUFS: "buffers for sockets",
    errno.ENOMEM: "memory for sockets",
    errno.EADDRNOTAVAIL: "local ports",
}
_ERRNO = re.compile(r"\[Errno (\d+)\]")

logger = logging.getLogger(__name__)


def scarce(error: OSError, tried: Sequence[AddrInfoType] = ()) -> int | None:
    """Return the error number if this machine had no resources left for a connection to one of the addresses
    ``tried``; None if the peer, or the network, failed.
    """
    # If several addresses failed differently, their errors are in the text alone.
    numbers = {error.errno} if error.errno is not None else set(map(int, _ERRNO.findall(str(error))))
    for number in numbers & _SCARCE.keys() - {errno.EADDRNOTAVAIL}:
        return number
    # The same error is raised if the machine has no address at all from which to reach this one, as without IPv6.
    if numbers == {errno.EADDRNOTAVAIL} and any(map(_has_source, tried)):
        return errno.EADDRNOTAVAIL
    return None


def _has_source(info: AddrInfoType) -> bool:
    """Return True if the machine has an address from which packets to this one would be sent. No packet is sent."""
    family, _, _, _, address = info
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
    except OSError:
        return False
    return True


def lack_of_files() -> OSError | None:
    """Return the error that prevents a socket from being created at this moment; None if one can be created."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        return error if scarce(error) else None
    return None


class Shortage:
    """Makes new connections wait during a shortage. Its begin and its end are logged once each."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pause = 0.0
        self._until = 0.0
        self._noted_at: float | None = None

    async def wait(self) -> None:
        """Wait while no connection may be opened."""
        if (left := self.left) > 0:
            await asyncio.sleep(left)

    @property
    def left(self) -> float:
        """Return the seconds until a connection may be opened."""
        return max(0.0, self._until - self._clock())

    def note(self, number: int) -> None:
        """Note that a connection could not be opened: pause, longer each time the pause did not help."""
        now = self._clock()
        if self._noted_at is None:
            logger.warning(
                "There are no more %s: new connections wait until there are, and no host is charged with it",
                _SCARCE[number],
            )
        self._noted_at = now
        if now >= self._until:
            self._pause = min(max(2 * self._pause, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            self._until = now + self._pause

    def opened(self) -> None:
        """Note that a connection could be opened."""
        if self._noted_at is None:
            return
        self._pause = 0.0
        if self._clock() - self._noted_at >= OVER_SECONDS:
            self._noted_at = None
            logger.warning("Connections can be opened again")
