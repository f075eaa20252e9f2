"""Checks of settings that contradict each other or need a package that is not installed, and the readers of
``ARCHIVE_SINKS`` and ``WARC_UPLOAD``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from webcrawl import storage
from webcrawl.archive import sinks
from webcrawl.config.readers import EMPTY, Refusal, SettingReader, as_list, in_full
from webcrawl.errors import Problem
from webcrawl.politeness import contact

LEAST_BUDGET = 16 << 20
"""The least budget in bytes. In a smaller one, the data on its way to the server at one moment would matter."""

_ORDERED = (
    ("POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"),
    ("HEALTH_PARK_SECONDS", "HEALTH_PARK_MAX_SECONDS"),
    ("REVISIT_INTERVAL_MIN_SECONDS", "REVISIT_INTERVAL_MAX_SECONDS"),
    ("DOWNLOAD_MAXSIZE", "DOWNLOAD_ANNOUNCED_MAXSIZE"),
)

Read = Mapping[str, Callable[[], Any]]
"""A function that returns the value, for each setting that is right alone, by its name."""


def contradictions(read: Read) -> Iterator[Problem]:
    """Yield problems of settings that contradict each other. Settings that are wrong alone are left out."""
    for less, more in _ORDERED:
        if less in read and more in read:
            least, most = read[less](), read[more]()
            if least > most and not (more == "DOWNLOAD_ANNOUNCED_MAXSIZE" and most == 0):
                yield Problem(less, f"must be at most {more}, which is {in_full(most)}, not {in_full(least)}")
    yield from _storage_contradictions(read)
    if "REDIS_BUDGET_BYTES" in read and 0 < (budget := read["REDIS_BUDGET_BYTES"]()) < LEAST_BUDGET:
        yield Problem("REDIS_BUDGET_BYTES", f"must be 0 or at least {LEAST_BUDGET}, not {budget}")
    if "CRAWLER_CONTACT" in read and (value := read["CRAWLER_CONTACT"]()) and not contact.is_contact(value):
        allowed = "a web or e-mail address, such as https://your.site/crawl"
        yield Problem("CRAWLER_CONTACT", f"must be {allowed}, not {value!r}")


def _storage_contradictions(read: Read) -> Iterator[Problem]:
    """Yield problems of settings that the chosen storage does not support."""
    choosing = {technology.implied_by for technology in storage.technologies() if technology.implied_by}
    if not read.keys() >= {"FRONTIER_BACKEND", "FRONTIER_SEEN", *choosing}:
        return
    chosen = storage.technology_named(
        read["FRONTIER_BACKEND"]() or storage.implied(lambda name: read[name]())
    )
    if read.get("CHECKPOINT_INTERVAL", float)() and not chosen.takes_checkpoints:
        able = storage.technology_names(lambda technology: technology.takes_checkpoints)
        how = f"; {chosen.copied_otherwise}" if chosen.copied_otherwise else ""
        yield Problem("CHECKPOINT_INTERVAL", f"needs FRONTIER_BACKEND={able}, not {chosen.name}{how}")
    if (seen := read["FRONTIER_SEEN"]()) not in chosen.seen_tests:
        allowed = " or ".join(chosen.seen_tests)
        yield Problem("FRONTIER_SEEN", f"must be {allowed} with FRONTIER_BACKEND={chosen.name}, not {seen!r}")


_FOUND_BY = {
    "text": "webcrawl.processing.main_text.MainText",
    "language": "webcrawl.processing.modules.Language",
}
"""Modules that come with the project, by a field that a sink may need."""


def sink_paths() -> SettingReader:
    """Import paths of archive sinks, each at most once, in their order."""
    allowed = "a list of import paths of archive sinks"

    def read(value: object) -> tuple[str, ...]:
        paths = tuple(as_list(value))
        if len(set(paths)) < len(paths):
            raise Refusal("must be a list that names each sink once")
        for path in paths:
            try:
                sinks.load(path)
            except (ImportError, TypeError) as error:
                raise Refusal(f"must be {allowed} ({error})") from error
        return paths

    return SettingReader(allowed, read)


def upload_url() -> SettingReader:
    """The URL of a folder that fsspec can write to; None when empty."""
    allowed = "the URL of a folder that fsspec supports, such as s3://BUCKET/FOLDER or file:///FOLDER"

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str) or not urlsplit(value).scheme:
            raise ValueError
        # A crawl that copies nothing away does not need it.
        from webcrawl.archive.upload import open_remote

        try:
            open_remote(value)
        except (ImportError, ValueError, OSError) as error:
            raise Refusal(f"must be {allowed} ({error})") from error
        return value

    return SettingReader(allowed, read)


def sink_contradictions(read: Read) -> Iterator[Problem]:
    """Yield a problem for each field that a sink needs and no module finds. Wrong settings are left out."""
    if not read.keys() >= {"ARCHIVE_SINKS", "PROCESSING_MODULES"} or not (paths := read["ARCHIVE_SINKS"]()):
        return
    # Without sinks no module is looked at.
    from webcrawl.processing.contract import load, merge_schemas

    produced = {"title", *merge_schemas(map(load, read["PROCESSING_MODULES"]()))}
    for path in paths:
        missing = [name for name in sinks.load(path).fields_needed if name not in produced]
        for name in missing:
            by = f", such as {_FOUND_BY[name]}" if name in _FOUND_BY else ""
            yield Problem(
                "PROCESSING_MODULES",
                f"must have a module that finds {name}{by}; {path} in ARCHIVE_SINKS needs it",
            )


def missing_packages(packages: Iterable[str]) -> str | None:
    """Return why a setting is refused that needs these packages, given by the names under which they are imported;
    None if all are installed. They are the extras of the package.
    """
    missing = [name.replace("_", "-") for name in dict.fromkeys(packages) if not _is_there(name)]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return f"needs {' and '.join(missing)}, which {verb} not installed: pip install {' '.join(missing)}"


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        # Of "a.b", when there is no "a".
        return False
