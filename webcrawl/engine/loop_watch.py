"""The watchdog of the event loop: it detects callbacks that blocked the loop too long, and their place in the code.

A beat runs on the loop many times a second. A beat that comes late by more than the threshold shows that something
blocked the loop, or that the machine gave the loop's thread no processor; the thread's CPU time since the beat was
due distinguishes the two. While a beat is late a second thread samples the code that the loop's thread is executing.

Both wake more often while the loop has more to do: a sleeping loop should not be woken for nothing, and a busy one is
awake anyway.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, repeat, takewhile
from operator import is_not
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

BUSY_BEATS, BEATS, IDLE_BEATS = 4, 2, 0.5
"""The number of beats in a threshold while the loop has much to do, something, and nothing for a while."""

LOOKS = 2
"""The number of samples in a threshold while the loop has something to do, and half as many while it has not."""

BEAT_SECONDS_MIN = 0.001
MUCH, LITTLE = 0.2, 0.05
"""The shares of its time in which a loop works that has much to do, and something."""
IDLE_AFTER = 40
"""The number of beats with little to do after which a loop counts as idle."""

PLACES_MAX = 100
"""The number of places that are remembered; holds at other places are counted without their place."""

_PACKAGE = Path(__file__).parents[1]
FRAMES_MAX = 60
_URL_MAX = 300
_TELLING = ("request", "response", "url", "lease", "entry", "flight", "fetch_task", "question", "page")
"""Names of variables that hold the URL in progress, the most reliable first."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A time in which the loop was blocked."""

    cpu_seconds: float
    """CPU seconds of the loop's thread."""
    wall_seconds: float
    place: str
    """The code that was executing, ``function (file:line)``, and its callers."""
    url: str | None
    """The URL in progress, if it could be determined."""


class LoopWatch:
    """Watches the event loop that runs the call of ``begin``, until ``end``.

    It measures the CPU time of the loop's thread in a turn of the loop, since single callbacks cannot be measured
    from outside: on a loop with much to do a turn may consist of several callbacks. The measured hold may be too long
    by one beat. The first hold after an idle time may be missed if it is short.
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
        """CPU time at the last beat."""
        self._idle = 0
        """The number of consecutive beats with little to do before them."""
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
        """Stop watching; no effect if it was not begun."""
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
        # The hold may have begun right after the last beat; if it began later, the time before is within the error.
        if used >= self._threshold and late >= max(self._threshold - (passed - late), self._threshold / 2):
            self._held(Hold(used, passed, *self._busiest_place(used)))
        self._samples.clear()
        self._collected, self._generation = 0.0, 0
        self._idle = self._idle + 1 if used < LITTLE * passed else 0
        if used > MUCH * passed:
            self._arm(self._busy_beats)
        else:
            self._arm(self._idle_beats if self._idle > IDLE_AFTER else self._beats)

    def _busiest_place(self, cpu: float) -> tuple[str, str | None]:
        """Return the place in which the loop's thread was most of the time, and the URL in progress."""
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
        """Sample repeatedly. A sample is taken when the loop's thread releases the GIL: after a long call of a
        library at the line after it, still in the same function.
        """
        while not self._ended.is_set():
            # Half the cost of waiting for the event.
            time.sleep(self._looks if self._idle < IDLE_AFTER else 2 * self._looks)
            late = perf_counter() - self._due
            if late > self._looks / 2 and (frame := sys._current_frames().get(self._thread)) is not None:
                frames = outwards(frame)
                self._samples.append((describe_place(frames), find_url(frames)))
                del frame, frames


def outwards(frame: FrameType) -> list[FrameType]:
    """Return a frame and those of its callers, at most ``FRAMES_MAX``.

    No Python code runs in between: it could release the GIL, the other thread would go on, and with CPython 3.11
    ``f_back`` of a frame that it left may be any object.
    """
    chain = accumulate(repeat("f_back", FRAMES_MAX - 1), getattr, initial=frame)
    return list(takewhile(partial(is_not, None), chain))


def describe_place(frames: Sequence[FrameType]) -> str:
    """Return the innermost function of the project and its two callers within it; the innermost of all, if there are
    none. ``frames``: the innermost one first.

    A library that it calls is named first.
    """
    innermost = frames[0].f_code
    own = [each for each in frames if _is_own(each)]
    if not own:
        return _format_frame(frames[0])
    callers = "".join(f" < {_name(each)}" for each in own[1:3])
    library = "" if own[0].f_code is innermost else f"{_name(frames[0])} in "
    return f"{library}{_format_frame(own[0])}{callers}"


def find_url(frames: Sequence[FrameType]) -> str | None:
    """Return the URL in progress, from the innermost function on the stack that has one."""
    for each in frames:
        local: dict[str, Any] = each.f_locals
        for name in _TELLING:
            value = local.get(name)
            url = getattr(getattr(value, "entry", value), "url", value)
            if isinstance(url, str) and url.startswith("http"):
                return url[:_URL_MAX]
    return None


def _is_own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(str(_PACKAGE)) and frame.f_code.co_filename != __file__


def _name(frame: FrameType) -> str:
    return frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name


def _format_frame(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    file = path.relative_to(_PACKAGE.parent) if path.is_relative_to(_PACKAGE) else path.name
    return f"{_name(frame)} ({file}:{frame.f_lineno})"


class Holds:
    """The holds of a crawl: their number, the longest one, and log lines by place."""

    def __init__(self, pause_seconds: float) -> None:
        """``pause_seconds``: the shortest time between two lines about one place."""
        self._pause = pause_seconds
        self._places: dict[str, _PlaceFigures] = {}

    def add(self, hold: Hold, now: float) -> str | None:
        """Return the line to log; None if there was one about this place recently. ``now`` is monotonic."""
        place = self._places.get(hold.place)
        if place is None:
            if len(self._places) >= PLACES_MAX:
                return None
            place = self._places[hold.place] = _PlaceFigures()
        place.unlogged += 1
        place.longest = max(place.longest, hold.cpu_seconds)
        if now < place.quiet_until:
            return None
        line = (
            f"The event loop was blocked {1000 * hold.cpu_seconds:.0f} ms by {hold.place}"
            f"{f', at {hold.url}' if hold.url else ''}"
        )
        if place.unlogged > 1:
            line += f"; {place.unlogged} times there since the last such line, {1000 * place.longest:.0f} ms at most"
        place.unlogged, place.longest, place.quiet_until = 0, 0.0, now + self._pause
        return line


@dataclass(slots=True)
class _PlaceFigures:
    unlogged: int = 0
    longest: float = 0.0
    quiet_until: float = 0.0
