"""The setting of a crawl of several worker processes on one machine."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.config.readers import SettingReader
from webcrawl.config.setting import setting

AUTO = "auto"
WORKERS_MAX = 256


def workers() -> SettingReader:
    """The number of worker processes; 0 stands for as many as cores."""

    def read(value: object) -> int:
        if value == AUTO:
            return 0
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if not 1 <= number <= WORKERS_MAX:
            raise ValueError
        return number

    return SettingReader(f"a whole number from 1 to {WORKERS_MAX}, or {AUTO}", read)


@dataclass(frozen=True, kw_only=True)
class WorkersSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    workers: int = setting(
        workers(),
        1,
        "processes",
        "Worker processes of the crawl in one JOBDIR, which share a Redis that the command starts. auto: as many as "
        "cores.",
    )
