"""The Lua operations in ``lua/``, put together with what they use."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

_USES = "-- uses: "


@dataclass(frozen=True, slots=True)
class Script:
    """One operation: its text and the name by which a server knows it."""

    name: str
    text: str
    sha: str


@cache
def script(name: str, crawl: str = "") -> Script:
    """The operation in ``lua/<name>.lua``; a line ``-- uses: a b`` in it puts ``a.lua`` and ``b.lua`` before it.

    Called without keys it does nothing. Each ``crawl`` (letters and digits) has an operation of its own, so that it
    does not become known to a server by the calls of another crawl.
    """
    text = _read(name)
    uses = next((line for line in text.splitlines() if line.startswith(_USES)), _USES)
    parts = [_read(part) for part in ("making_known", *uses.removeprefix(_USES).split())]
    whole = "\n".join([*parts, text, f"-- of the crawl {crawl}\n"])
    return Script(name, whole, hashlib.sha1(whole.encode(), usedforsecurity=False).hexdigest())


def _read(name: str) -> str:
    return resources.files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")
