"""Settings of a crawl that asks for more seeds when it runs low on domains."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from webcrawl.configuration.contradictions import Read
from webcrawl.configuration.readers import Reader, import_path, real, text, whole
from webcrawl.configuration.setting import DAY, setting
from webcrawl.errors import Problem


def command() -> Reader:
    """Words as a shell cuts them; an empty text for none."""
    any_text = text("a command, in words as a shell cuts them")

    def read(value: object) -> object:
        found = any_text.read(value)
        shlex.split(str(found))
        return found

    return Reader(any_text.allowed, read)


@dataclass(frozen=True, kw_only=True)
class ReplenishingSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    seeds_low_keys: int = setting(
        whole(1, 1_000_000),
        500,
        "hosts",
        "with fewer that have URLs more seeds are asked for, if somebody is asked",
    )
    seeds_command: str = setting(
        command(), "", "", "who is asked: a command that writes a file of seeds to its output"
    )
    seeds_hook: str | None = setting(
        import_path("the import path of an asynchronous function"),
        None,
        "",
        "or a function: from the number of hosts that have URLs to lines of seeds",
    )
    seeds_ask_seconds: float = setting(
        real(1, DAY), 60.0, "seconds", "between an answer and the next question, at least"
    )

    @property
    def asks_for_seeds(self) -> bool:
        """Whether more seeds are asked for at all."""
        return bool(self.seeds_command or self.seeds_hook)


def replenishing_contradictions(read: Read) -> Iterator[Problem]:
    """Who is asked must be one; settings that are wrong alone are left out."""
    if read.keys() >= {"SEEDS_COMMAND", "SEEDS_HOOK"} and read["SEEDS_COMMAND"]() and read["SEEDS_HOOK"]():
        yield Problem("SEEDS_HOOK", "must not be set with SEEDS_COMMAND: one of them is asked")
