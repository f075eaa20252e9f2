"""Deterministic numbers from text, and the names and sizes of hosts that follow from them.

Nothing here uses ``hash()`` or ``random``: both differ between processes or Python versions.
"""

from __future__ import annotations

import hashlib
import struct

_WEIGHT_UNIT = 10**12
"""Zipf weights are rounded to integers of this scale, so that a platform's last float bit changes no size."""


def numbers(text: str, count: int) -> tuple[int, ...]:
    """Return ``count`` evenly distributed 32-bit numbers that depend on ``text`` alone."""
    stream = hashlib.shake_128(text.encode()).digest(4 * count)
    return struct.unpack(f">{count}I", stream)


def chance(text: str) -> float:
    """Return a number in [0, 1) that depends on ``text`` alone."""
    return numbers(text, 1)[0] / 2**32


def pick(text: str, count: int) -> int:
    """Return a number in range(count) that depends on ``text`` alone."""
    return numbers(text, 1)[0] % count


def host_names(hosts: int, suffix: str, per_domain: int = 1) -> list[str]:
    """Name ``hosts`` hosts under ``suffix``, ``per_domain`` of them under each domain below it.

    With one per domain: h0000.localhost, h0001.localhost, ...; with three: h0000.test, s1.h0000.test,
    s2.h0000.test, h0001.test, ...
    """
    names = []
    for index in range(hosts):
        domain, place = divmod(index, per_domain)
        prefix = f"s{place}." if place else ""
        names.append(f"{prefix}h{domain:04d}.{suffix}")
    return names


def zipf_sizes(hosts: int, pages: int, exponent: float) -> list[int]:
    """Share ``pages`` among ``hosts`` by Zipf's law: largest first, at least one each, none left over."""
    if pages < hosts:
        raise ValueError(f"{pages} pages are too few for {hosts} hosts: each has at least its root")
    weights = zipf_weights(hosts, exponent)
    total = sum(weights)
    spare = pages - hosts
    sizes = [1 + spare * weight // total for weight in weights]
    for index in range(pages - sum(sizes)):
        sizes[index % hosts] += 1
    return sizes


def zipf_weights(hosts: int, exponent: float) -> list[int]:
    """Return integer weights proportional to 1 / rank ** exponent."""
    return [round(_WEIGHT_UNIT / rank**exponent) for rank in range(1, hosts + 1)]


def loopback_address(index: int) -> str:
    """Return the address of host ``index`` when each has its own: 127.1.0.1 and upwards."""
    block, last = divmod(index, 250)
    return f"127.{1 + block // 250}.{block % 250}.{last + 1}"
