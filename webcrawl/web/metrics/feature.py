"""Starts the child that answers for this process, and sends it the figures."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from webcrawl.child_process import frame, receive_from
from webcrawl.config.setting import MIB
from webcrawl.crawl.companion import Companion
from webcrawl.crawl.feature import Feature, stop
from webcrawl.version import __version__

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.timeseries.feature import TimeSeriesFeature

MODULE = "webcrawl.web.metrics.process"
SEND_SECONDS = 2.0
BUFFER_MAX = 64 << 10
"""Bytes that wait for a child that does not read; no more are added."""

logger = logging.getLogger(__name__)


class MetricsFeature(Feature):
    """The metrics endpoint of one process."""

    def __init__(self, parts: Parts) -> None:
        configuration = parts.configuration
        self._host = configuration.metrics_host
        self._given = {
            "host": self._host,
            "port": configuration.metrics_port,
            "worker": configuration.worker_name,
            "version": __version__,
        }
        self._figures: TimeSeriesFeature = parts.features.get("timeseries")
        self._companion = Companion("metrics", MODULE, self._converse, configuration.child_memory_mib * MIB)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._companion.begin()

    async def close(self) -> None:
        await self._companion.end()

    async def _converse(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """Tell the child where it listens, and send it the figures until it ends."""
        writer.write(frame(self._given))
        match await receive_from(reader):
            case ("listening", int(port)):
                host = f"[{self._host}]" if ":" in self._host else self._host
                logger.info("Metrics: http://%s:%d/metrics", host, port)
            case (_, str(sentence)):
                logger.warning("There are no metrics, and the crawl goes on: %s", sentence)
                return False
        sending = asyncio.get_running_loop().create_task(self._send(writer))
        try:
            # Nothing comes any more but the end.
            await reader.read(1)
        finally:
            await stop(sending)
        return True

    async def _send(self, writer: StreamWriter) -> None:
        """Send the figures at intervals."""
        while True:
            figures = self._figures.latest
            if figures is not None and writer.transport.get_write_buffer_size() < BUFFER_MAX:
                writer.write(frame({"begun_at": self._figures.begun_at, "figures": figures}))
            await asyncio.sleep(SEND_SECONDS)


def build(parts: Parts) -> MetricsFeature:
    """Return the metrics of a crawl with ``METRICS_PORT``."""
    return MetricsFeature(parts)
