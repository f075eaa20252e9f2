"""The process of ``scrapy serve``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING

from webcrawl.errors import StartRefused
from webcrawl.features.notifications.feature import receivers
from webcrawl.web.access import TokenFile
from webcrawl.web.connections import Listener
from webcrawl.web.dashboard.process import browser_address, build_access, with_token
from webcrawl.web.service.folder import ServiceFolder
from webcrawl.web.service.notices import CrashNotices
from webcrawl.web.service.open_settings import order_settings
from webcrawl.web.service.processes import Crawls
from webcrawl.web.service.server import ServiceSite
from webcrawl.web.service.service import Service
from webcrawl.web.service.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from scrapy.settings import Settings

    from webcrawl.config import Configuration

TOKEN = "token"
OPERATORS = "operators"
CLOCKS = "clocks"
TELL_SECONDS = 5.0
"""Interval at which an ending service says which crawls it waits for."""


async def serve(
    root: Path,
    port: int,
    settings: Settings,
    given: Mapping[str, str],
    configuration: Configuration,
    tell: Callable[[str], None],
) -> None:
    """Run the service until it is told to stop, and all crawls have ended.

    ``root``: an absolute path. ``given``: settings of the command line, which are those of all crawls. ``tell`` is
    called with sentences.

    :raises StartRefused: the folder cannot be used, or the port is in use
    """
    folder = ServiceFolder(root)
    folder.hold()
    private = configuration.service_private_seeds
    fixed = {"SEEDS_PRIVATE_ADDRESSES": str(private), "DASHBOARD_PORT": "0"} | _clocks(folder)
    crawls = Crawls(root, given, fixed, f"scrapy serve {quote(str(root))}")
    supervisor = Supervisor(
        crawls, folder, configuration.service_crawls_max, configuration.service_restarts_max
    )
    notices = CrashNotices(configuration.notify_interval_seconds, crawls.folder)
    service = Service(
        crawls,
        folder,
        supervisor,
        settings,
        order_settings=order_settings(configuration.service_order_settings, private=private),
        notices=notices if "crash" in configuration.notify_events else None,
        receivers=receivers(configuration, settings),
    )
    try:
        token_file = configuration.dashboard_token_file or folder.path / TOKEN
        try:
            token = TokenFile(token_file).token()
        except OSError as error:
            raise StartRefused(f"{token_file} cannot be used: {error.strerror or error}") from error
        operators = configuration.dashboard_operators_file or folder.path / OPERATORS
        access = build_access(configuration, token, operators)
        site = ServiceSite(service, access, configuration.service_crawls_max)
        listener = Listener(site.application)
        try:
            host = configuration.dashboard_host
            await listener.start(host, port)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise StartRefused(
                f"cannot listen on {host}:{port}: {why}; --port N takes another port"
            ) from error
        address = with_token(browser_address(host, listener.port), token if sys.stdout.isatty() else None)
        tell(f"The service for the crawls in {root} is at {address} until Ctrl-C.")
        tell(f"The token is in {token_file}.")
        try:
            await _run(service, tell)
        finally:
            await listener.stop()
    finally:
        await service.close()


def _clocks(folder: ServiceFolder) -> dict[str, str]:
    return {"SERVICE_CLOCKS": str(folder.path / CLOCKS)}


async def _run(service: Service, tell: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def stop() -> None:
        task = loop.create_task(_stop(service, tell, again=bool(tasks)))
        tasks.add(task)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    # A terminal that is closed does not end a service.
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    await service.begin()
    await service.over.wait()
    for task in tasks:
        task.cancel()
    tell("All crawls have stopped; they go on when the service begins again.")


async def _stop(service: Service, tell: Callable[[str], None], *, again: bool) -> None:
    await service.end()
    if again:
        tell("The crawls are forced to stop.")
        return
    while not service.over.is_set():
        live = await service.live()
        if live:
            tell(f"Waiting for open requests of {', '.join(live[:10])}{' ...' if len(live) > 10 else ''}")
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                await service.over.wait()
