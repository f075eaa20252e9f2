"""Numbers as people read them."""

from __future__ import annotations

_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def count(number: int) -> str:
    """``1234567`` as ``1,234,567``."""
    return f"{number:,}"


def things(number: int, noun: str) -> str:
    """``1 worker``, ``1,234 workers``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """Bytes in powers of a thousand: ``23.4 MB``."""
    for unit in _SIZES[:-1]:
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.95 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} {_SIZES[-1]}"


def rate(per_second: float) -> str:
    """``807/s``; slow rates with a decimal, very slow ones by the minute."""
    if per_second >= 9.95:
        return f"{per_second:,.0f}/s"
    if per_second >= 0.1 or per_second <= 0:
        return f"{per_second:.1f}/s"
    return f"{per_second * 60:.1f}/min"


def duration(seconds: float) -> str:
    """The two largest units that matter: ``8.2 s``, ``3 min 05 s``, ``2 h 10 min``, ``4 d 03 h``."""
    if seconds < 59.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02} h"
