"""The download handler by which a crawl says that Requests with ``meta["playwright"]`` are drawn by a browser."""

from __future__ import annotations

from webcrawl.fetching.http import HttpDownloadHandler


class PlaywrightDownloadHandler(HttpDownloadHandler):
    """Fetches as its base class. That it is named in ``DOWNLOAD_HANDLERS`` turns on
    ``downloadermiddlewares.drawing.DrawingMiddleware``, which draws the pages that it has fetched.
    """
