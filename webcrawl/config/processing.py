"""Settings of processing: the modules that find fields in pages, and their limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webcrawl.config.checks import Read, missing_packages
from webcrawl.config.readers import Refusal, SettingReader, as_list, real, whole
from webcrawl.config.setting import DAY, MIB, setting
from webcrawl.errors import Problem
from webcrawl.items import COLUMNS, ON_DEMAND

DEFAULT = "webcrawl.processing.modules.Head"


def processing_modules() -> SettingReader:
    """Import paths of modules, each once, in their order; their fields must not contradict each other."""
    allowed = "a list of import paths of processing modules"

    def read(value: object) -> tuple[str, ...]:
        paths = tuple(as_list(value))
        if len(set(paths)) < len(paths):
            raise Refusal("must be a list that names each module once")
        if paths == (DEFAULT,):
            # Each start of a command reads it, and few need what it imports.
            return paths
        from webcrawl.processing.contract import load, merge_schemas

        try:
            schema = merge_schemas([load(path) for path in paths])
        except (ImportError, TypeError) as error:
            raise Refusal(f"must be {allowed} ({error})") from error
        if taken := sorted(schema.keys() & (COLUMNS.keys() | ON_DEMAND)):
            raise Refusal(
                f"must be modules whose fields do not have the names of columns, {', '.join(taken)}"
            )
        return paths

    return SettingReader(allowed, read)


@dataclass(frozen=True, kw_only=True)
class ProcessingSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    processing_modules: tuple[str, ...] = setting(
        processing_modules(),
        [DEFAULT],
        "",
        "Modules that find fields in pages besides title and links, in this order.",
    )
    extraction_processes: int = setting(
        whole(0, 64, zero="in the crawl's own process"),
        1,
        "processes",
        "Number of processes that parse HTML beside the event loop, from the 200th page on. With 0 there is one "
        "when pages have made the crawl's own process grow by CHILD_MEMORY_MIB.",
    )
    processing_processes: int = setting(
        whole(1, 1000),
        2,
        "processes",
        "Maximum number of processes for heavy modules, plus one for quick pages if slow pages occupy "
        "all of them. They are started on demand.",
    )
    processing_timeout: float = setting(
        real(0.1, DAY), 10.0, "seconds", "Longest time for one module on one page."
    )
    processing_memory_bytes: int = setting(
        whole(0, 1 << 50, zero="no limit"),
        512 * MIB,
        "bytes",
        "Memory that a page may use in such a process (on Linux).",
    )
    child_memory_mib: int = setting(
        whole(128, 1 << 20),
        512,
        "MiB",
        "Resident memory at which a child process (page readers, heavy modules, archive, dashboard, metrics) is "
        "replaced between two pieces of work. No work is lost. On Linux, a page reader cannot use more than "
        "twice as much.",
    )


def processing_contradictions(read: Read) -> Iterator[Problem]:
    """Yield a problem if modules need packages that are not installed."""
    modules = read["PROCESSING_MODULES"]() if "PROCESSING_MODULES" in read else (DEFAULT,)
    if modules == (DEFAULT,):
        return
    from webcrawl.processing.contract import load

    if (why := missing_packages(name for path in modules for name in load(path).packages)) is not None:
        yield Problem("PROCESSING_MODULES", why)
