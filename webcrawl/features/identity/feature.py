"""Wiring of signed requests: the signer with the keys of the crawl, which are read again when their file changes."""

from __future__ import annotations

import asyncio
import logging
from time import time
from typing import TYPE_CHECKING

from webcrawl.config.identity import load_keys
from webcrawl.crawl.feature import Feature
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.identity.keys import KeyFileError, load_file
from webcrawl.features.identity.web_bot_auth import RequestSigner

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.identity.keys import KeyRing

logger = logging.getLogger(__name__)

KEY_FILE_POLL_SECONDS = 10.0
"""Interval at which the key file is checked for changes."""


class IdentityFeature(Feature):
    """The signed requests of one process. Each worker of a crawl reads the keys itself."""

    def __init__(self, parts: Parts) -> None:
        configuration = parts.configuration
        self._path: Path | None = configuration.identity_key_file
        self._agent = configuration.identity_agent or ""
        ring = load_keys(self._path)
        assert ring is not None
        self._version = self._file_version()
        self.signer: RequestSigner = RequestSigner(
            ring, self._agent, configuration.identity_components, configuration.identity_lifetime_seconds
        )
        self._announced: str | None = None
        self._looking = PeriodicTask(KEY_FILE_POLL_SECONDS, self._look)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._announce()
        self._looking.begin()

    async def before_close(self) -> None:
        self._looking.end()

    async def _look(self) -> None:
        if self._path is not None and (ring := await asyncio.to_thread(self._changed_keys)) is not None:
            self.signer.replace_keys(ring)
        self._announce()

    def _changed_keys(self) -> KeyRing | None:
        """Return the keys of a file that has changed; None if it has not, or if it cannot be used."""
        version = self._file_version()
        if version == self._version or self._path is None:
            return None
        self._version = version
        try:
            return load_file(self._path)
        except KeyFileError as error:
            logger.error("IDENTITY_KEY_FILE: %s %s; the keys that were read before stay", self._path, error)
            return None

    def _file_version(self) -> tuple[int, ...] | None:
        if self._path is None:
            return None
        try:
            about = self._path.stat()
        except OSError:
            return ()
        return about.st_ino, about.st_mtime_ns, about.st_size, about.st_mode

    def _announce(self) -> None:
        """Log the key that signs from now on."""
        key = self.signer.key_at(time())
        name = "" if key is None else key.thumbprint
        if name == self._announced:
            return
        self._announced = name
        if key is None:
            logger.error(
                "No key of the crawler is in force any more: requests are not signed. Add one with scrapy identity "
                "rotate; a running crawl reads a changed IDENTITY_KEY_FILE within %g s",
                KEY_FILE_POLL_SECONDS,
            )
        else:
            logger.info("Requests are signed with the key %s of %s", name, self._agent)


def build(parts: Parts) -> IdentityFeature:
    return IdentityFeature(parts)
