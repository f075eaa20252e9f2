"""One worker: ``scrapy crawl`` as a process of a crawl of several.

``python -m webcrawl.workers.worker JOBDIR LIFE KEEPER WORDS...``: LIFE is a descriptor that is closed at the other
end when the parent dies, KEEPER one that keeps the server of the storage running while this process lives. WORDS are
those of ``scrapy crawl``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from scrapy.cmdline import execute
from scrapy.settings import default_settings
from scrapy.utils.project import get_project_settings

from webcrawl import settings as project
from webcrawl.errors import StartRefused
from webcrawl.extensions.metrics_reader import WHOLE_CRAWL
from webcrawl.storage import technology_in

EXTENSIONS = {
    "webcrawl.extensions.summary.Summary": "webcrawl.workers.extensions.WorkerSummary",
    "webcrawl.extensions.crawl_log.CrawlLog": "webcrawl.workers.extensions.WorkerCrawlLog",
}
"""Extensions of a crawl of one process, and those in their places."""
FEED_STORAGES = dict.fromkeys(("", "file"), "webcrawl.workers.feed_storage.SharedFeedStorage")
FIGURES = {"webcrawl.workers.extensions.Figures": 41}


def own_settings(jobdir: Path) -> dict[str, Any]:
    """Return the settings of a worker, which nothing else may change. :raises StartRefused:"""
    technology = technology_in(jobdir)
    if technology is None or technology.keeper is None:
        raise StartRefused(f"{jobdir} is no crawl of several workers")
    extensions = {EXTENSIONS.get(name, name): place for name, place in project.EXTENSIONS_BASE.items()}
    return {
        **technology.server_settings(jobdir, start=False),
        WHOLE_CRAWL: str(jobdir),
        "EXTENSIONS_BASE": {**extensions, **FIGURES},
        "FEED_STORAGES_BASE": {**default_settings.FEED_STORAGES_BASE, **FEED_STORAGES},
    }


def stop_with_parent(life: int) -> None:
    """Stop this crawl, as a signal does, when the parent is gone; its terminal is gone for this process, too."""
    while os.read(life, 1):
        pass
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 2)
    os.kill(os.getpid(), signal.SIGTERM)


def main(arguments: list[str]) -> None:
    jobdir, life, keeper, words = Path(arguments[0]), int(arguments[1]), int(arguments[2]), arguments[3:]
    # The children of a worker must not keep the server running, nor hold a pipe of the parent.
    for descriptor in (life, keeper):
        os.set_inheritable(descriptor, False)
    threading.Thread(target=stop_with_parent, args=(life,), name="parent", daemon=True).start()
    settings = get_project_settings()
    try:
        for name, value in own_settings(jobdir).items():
            settings.set(name, value, priority="cmdline")
    except StartRefused as error:
        sys.stderr.write(f"scrapy crawl: {error}\n")
        sys.exit(2)
    sys.argv = ["scrapy", "crawl", *words]
    execute(settings=settings)


if __name__ == "__main__":
    main(sys.argv[1:])
