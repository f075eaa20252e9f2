"""The watchdog of the event loop: it notices callbacks that held the loop too long, and where they were at it.

A beat runs on the loop many times a second. A beat that comes late by more than the threshold says that something
held the loop, or that the machine gave the loop's thread no processor; the thread's CPU time since the beat was due
tells the two apart. A second thread looks while a beat is late which code the loop's thread is executing.

Both wake more often while the loop has more to do: a loop that sleeps must not be woken for nothing, and one that is
at work is awake anyway.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

BUSY_BEATS, BEATS, IDLE_BEATS = 4, 2, 0.5
"""Beats in a threshold while the loop has much to do, something, and nothing for a while."""

LOOKS = 2
"""Looks in a threshold while the loop has something to do, and half as many while it has not."""

BEAT_SECONDS_MIN = 0.001
MUCH, LITTLE = 0.2, 0.05
"""Shares of its time in which a loop works that has much to do, and something."""
IDLE_AFTER = 40
"""Beats with little to do after which a loop has nothing to do."""

PLACES_MAX = 100
"""Places that are remembered; holds elsewhere are counted without their place."""

_PACKAGE = Path(__file__).parents[1]
_FRAMES_MAX = 60
_URL_MAX = 300
_TELLING = ("request", "response", "url", "lease", "entry", "flight", "errand", "question", "page")
"""Names of variables that say which URL is worked on, the surest first."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A time in which the loop did nothing else."""

    cpu_seconds: float
    """Of the loop's thread."""
    wall_seconds: float
    place: str
    """The code that was executing, ``function (file:line)``, and what had called it."""
    url: str | None
    """What it worked on, where that could be seen."""


class LoopWatch:
    """Watches the event loop that runs where ``begin`` is called, until ``end``.

    What is measured is what a turn of the loop takes in CPU time of the loop's thread, since a callback cannot be
    measured from outside: on a loop with much to do a turn may be of several callbacks. A hold may be too long by one
    beat. A first one after a while without any work may be missed if it is short.
    """

    def __init__(self, threshold_seconds: float, held: Callable[[Hold], None]) -> None:
        """``held`` is called on the loop, once for each hold of ``threshold_seconds`` or more."""
        self._threshold = threshold_seconds
        self._busy_beats = max(threshold_seconds / BUSY_BEATS, BEAT_SECONDS_MIN)
        self._beats = max(threshold_seconds / BEATS, BEAT_SECONDS_MIN)
        self._idle_beats = max(threshold_seconds / IDLE_BEATS, BEAT_SECONDS_MIN)
        self._looks = max(threshold_seconds / LOOKS, BEAT_SECONDS_MIN)
        self._held = held
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._thread = 0
        self._beaten_at = 0.0
        self._due = 0.0
        self._cpu = 0.0
        """At the last beat."""
        self._idle = 0
        """Beats in a row with little to do before."""
        self._ended = threading.Event()
        self._samples: list[tuple[str, str | None]] = []
        self._collecting_since = 0.0
        self._collected, self._generation = 0.0, 0

    def begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._ended.clear()
        gc.callbacks.append(self._collector)
        self._arm(self._beats)
        threading.Thread(target=self._sample, name="loop watch", daemon=True).start()

    def end(self) -> None:
        """Stop watching; without effect where it was not begun."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._ended.set()
        gc.callbacks.remove(self._collector)

    # -- on the loop -----------------------------------------------------------------------------------------

    def _arm(self, seconds: float) -> None:
        assert self._loop is not None
        self._cpu = thread_time()
        self._beaten_at = perf_counter()
        self._due = self._beaten_at + seconds
        self._timer = self._loop.call_later(seconds, self._beat)

    def _beat(self) -> None:
        passed, used = perf_counter() - self._beaten_at, thread_time() - self._cpu
        late = self._beaten_at + passed - self._due
        # It may have begun right after the last beat; where it began later, what was before is within the error.
        if used >= self._threshold and late >= max(self._threshold - (passed - late), self._threshold / 2):
            self._held(Hold(used, passed, *self._seen(used)))
        self._samples.clear()
        self._collected, self._generation = 0.0, 0
        self._idle = self._idle + 1 if used < LITTLE * passed else 0
        if used > MUCH * passed:
            self._arm(self._busy_beats)
        else:
            self._arm(self._idle_beats if self._idle > IDLE_AFTER else self._beats)

    def _seen(self, cpu: float) -> tuple[str, str | None]:
        """Where the loop's thread was most of the time, and what it worked on."""
        if self._collected > cpu / 2:
            return f"garbage collection of generation {self._generation}", None
        if not self._samples:
            return "unknown place", None
        place, _ = Counter(place for place, _ in self._samples).most_common(1)[0]
        return place, next((url for at, url in self._samples if at == place and url), None)

    def _collector(self, phase: str, info: dict[str, int]) -> None:
        """Called by Python's garbage collector, on whichever thread it runs."""
        if threading.get_ident() == self._thread:
            if phase == "start":
                self._collecting_since = thread_time()
            else:
                self._collected += thread_time() - self._collecting_since
                self._generation = max(self._generation, info["generation"])

    # -- on the thread beside it -----------------------------------------------------------------------------

    def _sample(self) -> None:
        """Look again and again. It gets to look when the loop's thread lets go of the interpreter: after a long
        call of a library that is at the line behind it, still in the same function."""
        while not self._ended.is_set():
            # Half the price of a wait for the event.
            time.sleep(self._looks if self._idle < IDLE_AFTER else 2 * self._looks)
            late = perf_counter() - self._due
            if late > self._looks / 2 and (frame := sys._current_frames().get(self._thread)) is not None:
                self._samples.append((place_of(frame), url_of(frame)))
                del frame


def place_of(frame: FrameType) -> str:
    """The innermost function of the project and its two callers within it; the innermost of all, if there are none.

    A library that is called by it is named in front.
    """
    innermost = frame.f_code
    own = [each for each in _outwards(frame) if _is_own(each)]
    if not own:
        return _told(frame)
    callers = "".join(f" < {_name(each)}" for each in own[1:3])
    library = "" if own[0].f_code is innermost else f"{_name(frame)} in "
    return f"{library}{_told(own[0])}{callers}"


def url_of(frame: FrameType) -> str | None:
    """The URL that some function on the stack works on, the innermost that shows one."""
    for each in _outwards(frame):
        local: dict[str, Any] = each.f_locals
        for name in _TELLING:
            found = local.get(name)
            url = getattr(getattr(found, "entry", found), "url", found)
            if isinstance(url, str) and url.startswith("http"):
                return url[:_URL_MAX]
    return None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_FRAMES_MAX):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _is_own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(str(_PACKAGE)) and frame.f_code.co_filename != __file__


def _name(frame: FrameType) -> str:
    return frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name


def _told(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    file = path.relative_to(_PACKAGE.parent) if path.is_relative_to(_PACKAGE) else path.name
    return f"{_name(frame)} ({file}:{frame.f_lineno})"


class Holds:
    """What a crawl has to say of its holds: how many, the longest, and by place what is worth a line in the log."""

    def __init__(self, pause_seconds: float) -> None:
        """``pause_seconds``: between two lines on one place."""
        self._pause = pause_seconds
        self._places: dict[str, _Place] = {}

    def add(self, hold: Hold, now: float) -> str | None:
        """The line that is due; None where this place had one lately. ``now`` is monotonic."""
        place = self._places.get(hold.place)
        if place is None:
            if len(self._places) >= PLACES_MAX:
                return None
            place = self._places[hold.place] = _Place()
        place.unlogged += 1
        place.longest = max(place.longest, hold.cpu_seconds)
        if now < place.quiet_until:
            return None
        line = (
            f"The event loop was held {1000 * hold.cpu_seconds:.0f} ms by {hold.place}"
            f"{f', at {hold.url}' if hold.url else ''}"
        )
        if place.unlogged > 1:
            line += f"; {place.unlogged} times there since the last such line, {1000 * place.longest:.0f} ms at most"
        place.unlogged, place.longest, place.quiet_until = 0, 0.0, now + self._pause
        return line


@dataclass(slots=True)
class _Place:
    unlogged: int = 0
    longest: float = 0.0
    quiet_until: float = 0.0
