"""The technology ``sqlite``: the state is in files of the JOBDIR, for a crawl of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.storage.technology import SteadyClock, Technology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from webcrawl.storage.contract import Backend
    from webcrawl.storage.inspection import FolderInspection
    from webcrawl.storage.technology import CrawlClock, CrawlFacts


class SqliteTechnology(Technology):
    name = "sqlite"
    frontier_file = "frontier.db"
    seen_tests = ("exact", "bloom")
    takes_checkpoints = True

    def build(self, facts: CrawlFacts) -> tuple[Backend, CrawlClock]:
        from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
        from webcrawl.storage.sqlite.opening import SPIDER

        configured = facts.configuration
        options = SqliteOptions(
            seen=configured.frontier_seen,  # type: ignore[arg-type]
            seen_capacity=configured.frontier_seen_capacity,
            seen_error_rate=configured.frontier_seen_error_rate,
            cache_bytes=configured.frontier_cache_bytes,
            queue_max=configured.frontier_queue_max,
            robots_max=configured.robots_cache_size,
            delay_seconds=configured.first_delay,
        )
        identity = {
            "FRONTIER_SEEN": configured.frontier_seen,
            **facts.identity,
            **({SPIDER: facts.spider} if facts.spider else {}),
        }
        assert facts.folder is not None
        return SqliteBackend(facts.folder, options, identity), SteadyClock()

    def inspect_folder(self, folder: Path) -> FolderInspection:
        from webcrawl.storage.sqlite.inspection import SqliteInspection

        return SqliteInspection(folder / self.frontier_file)

    def copy_state(
        self, source: Path, target: Path, progress: Callable[[int, int], None] | None = None
    ) -> Iterable[Path]:
        from webcrawl.storage.sqlite.copying import copy_databases

        return copy_databases(source / self.frontier_file, target, progress)


TECHNOLOGY = SqliteTechnology()
