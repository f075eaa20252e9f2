"""The configuration of a crawl's archive and of each of its sinks: plain values for another process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.archive import sinks
from webcrawl.archive.process import RemoteArchive
from webcrawl.config import SETTINGS, Configuration
from webcrawl.config.setting import MIB
from webcrawl.frontier.records import Kind
from webcrawl.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.crawl.jobdir import Jobdir
    from webcrawl.frontier.lease import Outcome

LINK_LOG = "webcrawl.links.log.LinkLog"

NOT_MODIFIED = 304

_OURS = {item.name: item.field_name for item in SETTINGS}


def build_archive(
    configuration: Configuration, jobdir: Jobdir, settings: BaseSettings, further: Sequence[str] = ()
) -> RemoteArchive:
    """Return the archive of the crawl in ``jobdir``, not opened yet. ``further``: import paths of archive sinks that
    no setting names."""
    info = {
        "software": f"webcrawl/{__version__}",
        "robots": "obey (RFC 9309)",
        "http-header-user-agent": configuration.user_agent,
    }
    if configuration.crawler_contact:
        info["operator"] = configuration.crawler_contact
    return RemoteArchive(
        jobdir.path,
        held=jobdir.descriptors,
        worker=configuration.worker_name,
        warc=configuration.warc_enabled,
        roll_bytes=configuration.warc_roll_bytes,
        metadata=configuration.warc_metadata,
        index=configuration.warc_index,
        upload=configuration.warc_upload,
        upload_keep=configuration.warc_upload_keep,
        level=configuration.warc_compression_level,
        log_roll_bytes=configuration.fetch_log_roll_bytes,
        log_keep_days=configuration.fetch_log_keep_days,
        sinks=[
            (path, sink_settings(path, configuration, settings))
            for path in (*archive_sinks(configuration), *further)
        ],
        info=info,
        memory_bytes=configuration.child_memory_mib * MIB,
    )


def archive_sinks(configuration: Configuration) -> list[str]:
    """Return the import paths of all sinks; one that the operator names too is included once."""
    own = [LINK_LOG] if configuration.link_log_enabled else []
    return list(dict.fromkeys([*own, *configuration.archive_sinks]))


def sink_settings(path: str, configuration: Configuration, settings: BaseSettings) -> dict[str, Any]:
    """Return the settings of the sink with this import path: ours as they were read, others as they were given."""
    named = sinks.load(path).settings
    values = {
        name: getattr(configuration, _OURS[name]) if name in _OURS else settings.get(name) for name in named
    }
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


_PAGES = frozenset({Kind.PAGE, Kind.INLINE})


def leave_out(outcome: Outcome, pages: str) -> None:
    """Leave a page with a response out of the archive unless WARC_PAGES wants it, and note that in its line of the
    log.

    robots.txt, sitemaps, redirects and errors are kept: they are small, and document the crawl's decisions. A page
    that was left out is no record for a later one to refer to, and refers to none.
    """
    entry = outcome.entry
    if pages == "all" or entry is None or entry.capture is None or entry.record.kind not in _PAGES:
        return
    status = entry.record.status or 0
    came = 200 <= status < 300 or status == NOT_MODIFIED
    if came and not (pages == "relevant" and entry.record.extra.get("relevant")):
        entry.capture = entry.revisit = entry.kept = None
        entry.record.extra["archived"] = False
