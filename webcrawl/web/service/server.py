"""The server of the service: its own API and page, and below ``/crawls/NAME/`` the dashboard of each crawl.

Rights, limits and headers are those of the dashboard's server (``Site``).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from webcrawl.errors import CrawlError
from webcrawl.web.access import Denial
from webcrawl.web.dashboard.server import Dashboard, Site, static_files
from webcrawl.web.service.api import ENDPOINTS, ServiceApi
from webcrawl.web.service.records import name_problem
from webcrawl.web.service.supervisor import ServiceError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from webcrawl.web.access import Access
    from webcrawl.web.dashboard.source import CrawlSource
    from webcrawl.web.service.records import CrawlOrder
    from webcrawl.web.service.service import Service

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MOUNT = "/crawls/{crawl}"
"""The address of a crawl's dashboard."""
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


@dataclass(frozen=True, slots=True)
class _Mounted:
    """The dashboard of a crawl."""

    order: CrawlOrder
    application: web.Application
    handlers: dict[tuple[str, str], Handler]
    """The handlers by method and path."""


class ServiceSite(Site):
    """The application of a service."""

    def __init__(self, service: Service, access: Access, running_max: int) -> None:
        super().__init__(access, ENDPOINTS)
        self._service = service
        self._api = ServiceApi(service, access, running_max)
        self._dashboards: dict[str, _Mounted] = {}
        self._mounting = asyncio.Lock()
        self.application = self._application()

    def _application(self) -> web.Application:
        made = self._new_application(_files())
        made.on_cleanup.append(self._close)
        made.router.add_get(MOUNT, _with_slash)
        # The routes are the same for all crawls: those of a dashboard that is never asked.
        template = Dashboard(cast("CrawlSource", None), self._access).application
        for method, path, handler in _routes(template):
            is_page = getattr(handler, "is_page", False)
            made.router.add_route(method, f"{MOUNT}{path}", self._mounted(method, path, is_page=is_page))
        return made

    async def _close(self, application: web.Application) -> None:
        for mounted in self._dashboards.values():
            await mounted.application.cleanup()

    def _mounted(self, method: str, path: str, *, is_page: bool) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            mounted = await self._dashboard(request.match_info["crawl"])
            return await mounted.handlers[method, path](request)

        handle.is_page = is_page  # type: ignore[attr-defined]
        return handle

    async def _dashboard(self, name: str) -> _Mounted:
        """Return the dashboard of a crawl. :raises Denial: there is none"""
        async with self._mounting:
            try:
                order = (await self._service.record(name)).order
            except ServiceError as error:
                if (gone := self._dashboards.pop(name, None)) is not None:
                    await gone.application.cleanup()
                raise Denial(404, str(error)) from error
            known = self._dashboards.get(name)
            if known is not None and known.order == order:
                return known
            if known is not None:
                await known.application.cleanup()
            try:
                source = await asyncio.to_thread(self._service.source, order)
            except CrawlError as error:
                raise Denial(503, " ".join(str(error).split()), 5.0) from error
            application = Dashboard(source, self._access, name).application
            application.freeze()
            handlers = {(method, path): handler for method, path, handler in _routes(application)}
            mounted = self._dashboards[name] = _Mounted(order, application, handlers)
            return mounted


def _routes(application: web.Application) -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and handler of each route; GET includes HEAD where aiohttp adds it."""
    for route in application.router.routes():
        if route.resource is not None:
            yield route.method, route.resource.canonical, route.handler


async def _with_slash(request: web.Request) -> web.StreamResponse:
    """Lead to the page: the addresses in it are relative. So is this one, and it begins with no name: a browser would
    take the beginning of a name with a colon for a scheme."""
    name = request.match_info["crawl"]
    if name_problem(name) is not None:
        raise Denial(404, "there is nothing at this address")
    return web.Response(status=308, headers={"Location": f"./{name}/"})


def _files() -> Iterator[tuple[str, bytes, str]]:
    """Yield path, content and type of the page's files: its own, and those of the dashboard that it uses."""
    yield from (file for file in static_files() if file[0] != "/")
    for file in (resources.files("webcrawl.web.service") / "static").iterdir():
        kind = _TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/static/{file.name}"
            yield path, file.read_bytes(), kind
