"""Axes: where a value lies between two ends, and the ticks that say so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STEPS_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000)
_TICKS_MAX = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``low`` to ``high``, or by their logarithms, with values that are named."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one; not beyond."""
        if self.logarithmic:
            value = max(value, self.low)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(max(part, 0.0), 1.0)


def linear(high: float, shown: Callable[[float], str]) -> Axis:
    """From 0 to the next round number above ``high``."""
    high = high if high > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(high))
    step = next(step for step in (0.2, 0.5, 1.0, 2.0, 5.0) if high <= step * power * 5) * power
    count = math.ceil(high / step - 1e-9)
    return Axis(0.0, count * step, [(number * step, shown(number * step)) for number in range(count + 1)])


def logarithmic(low: float, high: float, shown: Callable[[float], str]) -> Axis:
    """From the power of ten below ``low`` (more than 0) to the one above ``high``."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    every = math.ceil((last - first) / 8)
    ticks = [(10.0**power, shown(10.0**power)) for power in range(first, last + 1, every)]
    return Axis(10.0**first, 10.0**last, ticks, logarithmic=True)


def times(start: float, end: float) -> Axis:
    """Epoch seconds, in UTC."""
    end = max(end, start + 1)
    step = next((step for step in _STEPS_SECONDS if (end - start) / step <= _TICKS_MAX), None)
    if step is None:
        step = math.ceil((end - start) / _TICKS_MAX / _STEPS_SECONDS[-1]) * _STEPS_SECONDS[-1]
    pattern = "%Y-%m-%d" if step >= 86_400 else "%m-%d %H:%M" if step >= 60 else "%H:%M:%S"
    first = math.ceil(start / step) * step
    ticks = [
        (float(at), datetime.fromtimestamp(at, UTC).strftime(pattern))
        for at in range(first, int(end) + 1, step)
    ]
    return Axis(start, end, ticks)
