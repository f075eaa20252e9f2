"""The table of all endpoints below ``/api/v1``."""

from __future__ import annotations

from webcrawl.features.dashboard.endpoint import PREFIX, Api, Call, Endpoint, Reply, sentence_of
from webcrawl.features.dashboard.endpoints import crawl, series, session

__all__ = ["ENDPOINTS", "PREFIX", "Api", "Call", "Endpoint", "Reply", "sentence_of"]

ENDPOINTS: tuple[Endpoint, ...] = (
    *session.ENDPOINTS,
    *crawl.ENDPOINTS,
    *series.ENDPOINTS,
)
