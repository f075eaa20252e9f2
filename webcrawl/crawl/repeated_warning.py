"""A warning that may be due many times in a second, for one cause: it is logged once in a span of time."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

SPAN_SECONDS = 60.0


class RepeatedWarning:
    """Logs a sentence at once, and the next time after ``SPAN_SECONDS``, with how often it was due meanwhile."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._cause: str | None = None
        self._until = 0.0
        self._unsaid = 0

    def due(self, sentence: str) -> None:
        """Note that the warning is due. Another sentence is another cause, and is logged at once."""
        now = self._clock()
        if sentence == self._cause and now < self._until:
            self._unsaid += 1
            return
        more = self._rest() if sentence == self._cause else ""
        self._cause, self._until, self._unsaid = sentence, now + SPAN_SECONDS, 0
        self._logger.warning("%s%s", sentence, more)

    def over(self, sentence: str) -> None:
        """Note that the cause is gone: if a warning was logged, ``sentence`` says so, with the number of the rest."""
        if self._cause is None:
            return
        more = self._rest()
        self._cause, self._unsaid = None, 0
        self._logger.warning("%s%s", sentence, more)

    def _rest(self) -> str:
        times = "once more" if self._unsaid == 1 else f"{self._unsaid:,} more times"
        return f" ({times} meanwhile)" if self._unsaid else ""
