"""The service's own files: a folder ``.service`` below that of its crawls.

``NAME.json`` is the record of a crawl, ``NAME.seeds`` its seeds, ``schedules/NAME.json`` a schedule, ``token`` the
token of the operators, ``lock`` the lock of the service.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replace, sync_folder
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.errors import JobdirLocked, JobdirUnusable, StartRefused
from webcrawl.web.service import schedules
from webcrawl.web.service.records import as_text, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from webcrawl.web.service.records import CrawlRecord
    from webcrawl.web.service.schedules import Schedule

logger = logging.getLogger(__name__)

NAME = ".service"
SCHEDULES = "schedules"
_RECORD = ".json"
_SEEDS = ".seeds"


class ServiceFolder:
    """The ``RecordStore`` and ``ScheduleStore`` of a service. Held by one service at a time."""

    def __init__(self, root: Path) -> None:
        self.path = root / NAME
        self._lock = Jobdir(self.path)

    def hold(self) -> None:
        """Create the folder and lock it. :raises StartRefused: another service has it, or it cannot be used"""
        try:
            self._lock.hold()
            # Seeds and settings are nobody else's business.
            self.path.chmod(0o700)
        except JobdirLocked:
            holder = self._lock.holder() or "another process"
            raise StartRefused(f"{self.path.parent} has a service already, {holder}") from None
        except (JobdirUnusable, OSError) as error:
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            why = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)
            raise StartRefused(f"{self.path.parent} cannot be used for crawls: {why}") from error

    def leave(self) -> None:
        """Release the lock."""
        self._lock.leave()

    def records(self) -> Iterator[CrawlRecord]:
        """Yield the records. One that cannot be read is logged, and its crawl is left alone."""
        for path in sorted(self.path.glob(f"*{_RECORD}")):
            try:
                record = read(path.read_bytes())
                if f"{record.order.name}{_RECORD}" != path.name:
                    raise ValueError(f"it is of the crawl {record.order.name}")
            except (OSError, ValueError) as error:
                logger.error("%s cannot be read, and its crawl is not run: %s", path, error)
            else:
                yield record

    def put(self, record: CrawlRecord) -> None:
        path = self.path / f"{record.order.name}{_RECORD}"
        replace(path, as_text(record), sync=True)
        sync_folder(self.path)

    def delete(self, name: str) -> None:
        for suffix in (_RECORD, _SEEDS):
            (self.path / f"{name}{suffix}").unlink(missing_ok=True)
        sync_folder(self.path)

    def schedules(self) -> Iterator[Schedule]:
        """Yield the schedules. One that cannot be read is logged, and starts nothing."""
        for path in sorted((self.path / SCHEDULES).glob(f"*{_RECORD}")):
            try:
                schedule = schedules.read(path.read_bytes())
                if f"{schedule.name}{_RECORD}" != path.name:
                    raise ValueError(f"it is of the schedule {schedule.name}")
            except (OSError, ValueError) as error:
                logger.error("%s cannot be read, and starts nothing: %s", path, error)
            else:
                yield schedule

    def put_schedule(self, schedule: Schedule) -> None:
        folder = self.path / SCHEDULES
        if not folder.exists():
            folder.mkdir(mode=0o700)
            sync_folder(self.path)
        replace(folder / f"{schedule.name}{_RECORD}", schedules.as_text(schedule), sync=True)
        sync_folder(folder)

    def delete_schedule(self, name: str) -> None:
        folder = self.path / SCHEDULES
        (folder / f"{name}{_RECORD}").unlink(missing_ok=True)
        sync_folder(folder)

    def seeds_path(self, name: str) -> Path:
        """Return the file with the seeds of a crawl."""
        return self.path / f"{name}{_SEEDS}"

    def add_seeds(self, name: str, seeds: Iterable[str]) -> None:
        """Add lines to the seeds of a crawl, all or none. :raises OSError:"""
        path = self.seeds_path(name)
        before = path.stat().st_size if path.exists() else 0
        try:
            with path.open("ab") as file:
                file.writelines(f"{seed}\n".encode("utf-8", "surrogateescape") for seed in seeds)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.truncate(path, before)
            raise
