"""Settings of what is kept: the crawl's folder, archive and log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webcrawl.config.checks import sink_paths, upload_url
from webcrawl.config.readers import choice, folder, real, switch, whole
from webcrawl.config.setting import setting


@dataclass(frozen=True, kw_only=True)
class KeepingSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    jobdir: Path | None = setting(
        folder("a folder or the name of a new one"),
        None,
        "",
        "where the crawl lives; a fresh folder if unset",
    )
    checkpoint_interval: float = setting(
        real(0, 8784, zero="never"), 0, "hours", "how often a checkpoint of the crawl is taken by itself"
    )
    checkpoint_folder: Path | None = setting(
        folder("a folder or the name of a new one"),
        None,
        "",
        "where these are; if unset `checkpoints` in the JOBDIR",
    )
    checkpoints_kept: int = setting(
        whole(1, 10_000), 2, "checkpoints", "of those taken by themselves; older ones are deleted"
    )
    warc_enabled: bool = setting(switch(), True, "", "whether requests and responses are kept")
    warc_pages: str = setting(
        choice("all", "relevant", "none"),
        "all",
        "",
        "which pages are kept there: all, those found relevant, or none; of the others there is the line of the log",
    )
    warc_roll_bytes: int = setting(
        whole(1024, 1 << 50), 1_000_000_000, "bytes", "a WARC file is closed at this size"
    )
    warc_compression_level: int = setting(whole(0, 3), 2, "", "effort of gzip, from quick to small")
    fetch_log_roll_bytes: int = setting(
        whole(1024, 1 << 50), 1_000_000_000, "bytes", "fetch.jsonl is set aside and compressed at this size"
    )
    fetch_log_keep_days: float = setting(
        real(0, 36_500, zero="for good"),
        0.0,
        "days",
        "how long what was set aside of fetch.jsonl is kept; reports and audits know no more of what is deleted",
    )
    warc_metadata: bool = setting(
        switch(), True, "", "whether each page has a metadata record: via, depth, links, robots.txt"
    )
    warc_index: bool = setting(
        switch(), True, "", "whether a CDXJ index of the WARC files is kept, for replay"
    )
    warc_upload: str | None = setting(
        upload_url(),
        None,
        "",
        "URL to which closed WARC files and their indexes are copied, such as s3://bucket/crawl",
    )
    warc_upload_keep: bool = setting(
        switch(), True, "", "whether they stay in the JOBDIR too, once the copy was compared"
    )
    link_log_enabled: bool = setting(switch(), True, "", "whether the links of all pages are kept")
    link_log_roll_bytes: int = setting(
        whole(1024, 1 << 50), 32_000_000, "bytes", "a segment of the link log is closed at this size"
    )
    archive_sinks: tuple[str, ...] = setting(
        sink_paths(),
        [],
        "",
        "what else is kept of each request, behind WARC files and fetch log, in this order",
    )
    commit_interval_seconds: float = setting(
        real(0, 60), 0.1, "seconds", "how long finished requests wait for others to be stored with them"
    )
