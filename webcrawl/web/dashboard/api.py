"""The table of all endpoints below ``/api/v1``."""

from __future__ import annotations

from webcrawl.web.dashboard.endpoint import PREFIX, Api, Call, Endpoint, EndpointReply, error_sentence
from webcrawl.web.dashboard.endpoints import (
    changes,
    crawl,
    events,
    hosts,
    lists,
    pages,
    series,
    session,
    steering,
    suggestions,
)

__all__ = ["ENDPOINTS", "PREFIX", "PUBLIC", "Api", "Call", "Endpoint", "EndpointReply", "error_sentence"]

ENDPOINTS: tuple[Endpoint, ...] = (
    *session.ENDPOINTS,
    *crawl.ENDPOINTS,
    *events.ENDPOINTS,
    *series.ENDPOINTS,
    *hosts.ENDPOINTS,
    *lists.ENDPOINTS,
    *pages.ENDPOINTS,
    *changes.ENDPOINTS,
    *suggestions.ENDPOINTS,
    *steering.ENDPOINTS,
)
PUBLIC: tuple[Endpoint, ...] = (
    *(endpoint for endpoint in ENDPOINTS if endpoint.in_public),
    *suggestions.PUBLIC,
)
"""The endpoints of public mode."""
