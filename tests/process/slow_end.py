"""An extension that gets two signals when the engine has stopped, and whose process then takes long to end."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals

from webcrawl.engine.shutdown import FORCE_SECONDS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class SlowEnd:
    """Longer than the process has after a second signal."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SlowEnd:
        extension = cls()
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def engine_stopped(self) -> None:
        gc.callbacks.append(self._collects)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)

    def _collects(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the last collections of the interpreter too, when no thread runs any more."""
        if sys.is_finalizing():
            gc.callbacks.clear()
            time.sleep(FORCE_SECONDS + 1)
