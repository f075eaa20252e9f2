"""Settings of the JOBDIR, the checkpoints, the archive and the logs of fetches and links."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webcrawl.config.checks import sink_paths, upload_url
from webcrawl.config.readers import choice, folder, real, switch, whole
from webcrawl.config.setting import setting


@dataclass(frozen=True, kw_only=True)
class ArchiveSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    jobdir: Path | None = setting(
        folder("a folder or the name of a new one"),
        None,
        "",
        "Folder of the crawl. If unset, a new folder in `crawls/`.",
    )
    checkpoint_interval: float = setting(
        real(0, 8784, zero="never"), 0, "hours", "Interval between automatic checkpoints of the crawl."
    )
    checkpoint_folder: Path | None = setting(
        folder("a folder or the name of a new one"),
        None,
        "",
        "Folder of the automatic checkpoints. If unset, `checkpoints` in the JOBDIR.",
    )
    checkpoints_kept: int = setting(
        whole(1, 10_000),
        2,
        "checkpoints",
        "Number of automatic checkpoints that are kept. Older ones are deleted.",
    )
    warc_enabled: bool = setting(switch(), True, "", "Write requests and responses to WARC files.")
    warc_pages: str = setting(
        choice("all", "relevant", "none"),
        "all",
        "",
        "Pages that are archived: all, those that are relevant to the FOCUS, or none. The others have "
        "only their line in the fetch log.",
    )
    archive_complete_pages: bool = setting(
        switch(),
        False,
        "",
        "Fetch what pages need to be shown as they were: sets LINK_TYPES, EMBED_HOPS_MAX, MIME_TYPES_WANTED "
        "and DOWNLOAD_MAXSIZE, unless these are set.",
    )
    warc_roll_bytes: int = setting(
        whole(1024, 1 << 50), 1_000_000_000, "bytes", "Size at which a WARC file is closed."
    )
    warc_compression_level: int = setting(
        whole(0, 3), 2, "", "Compression level of gzip, from 0 (fastest) to 3 (smallest)."
    )
    fetch_log_roll_bytes: int = setting(
        whole(1024, 1 << 50), 1_000_000_000, "bytes", "Size at which `fetch.jsonl` is rotated and compressed."
    )
    fetch_log_keep_days: float = setting(
        real(0, 36_500, zero="for good"),
        0.0,
        "days",
        "How long rotated files of the fetch log are kept. Reports and audits do not include deleted files.",
    )
    warc_metadata: bool = setting(
        switch(), True, "", "Write a metadata record for each page: via, depth, links, robots.txt."
    )
    warc_index: bool = setting(switch(), True, "", "Write a CDXJ index of the WARC files, for replay.")
    warc_upload: str | None = setting(
        upload_url(),
        None,
        "",
        "URL to which closed WARC files and their indexes are copied, such as s3://bucket/crawl.",
    )
    warc_upload_keep: bool = setting(
        switch(),
        True,
        "",
        "Keep copied files in the JOBDIR too. If False, they are deleted after the copy has been compared.",
    )
    link_log_enabled: bool = setting(switch(), True, "", "Write the links of all pages to the link log.")
    link_log_roll_bytes: int = setting(
        whole(1024, 1 << 50), 32_000_000, "bytes", "Size at which a segment of the link log is closed."
    )
    archive_sinks: tuple[str, ...] = setting(
        sink_paths(),
        [],
        "",
        "Classes that store further data of each request, after WARC files and fetch log, in this order.",
    )
    commit_interval_seconds: float = setting(
        real(0, 60),
        0.1,
        "seconds",
        "How long finished requests wait for others that are committed with them.",
    )
