"""The API of a service on loopback, with crawls that have no processes."""

from __future__ import annotations

import asyncio
import io
import json
import time
from contextlib import asynccontextmanager

from aiohttp import ClientSession
from scrapy.settings import Settings

from tests.unit.web.service.supervising import Machine
from webcrawl.web.access import Access, Operator, Right
from webcrawl.web.connections import Listener
from webcrawl.web.service.folder import ServiceFolder
from webcrawl.web.service.open_settings import order_settings
from webcrawl.web.service.server import ServiceSite
from webcrawl.web.service.service import Service
from webcrawl.web.service.supervisor import Supervisor

OPERATORS = [Operator("mia", Right.WRITE, "mias-token"), Operator("guest", Right.READ, "guests-token")]
TOKEN = "the-token"
SEEDS = ["http://127.0.0.1/"]


class Folders(Machine):
    """The crawls' folders, which are empty."""

    def __init__(self, root):
        super().__init__()
        self.root = root

    def folder(self, name):
        return self.root / name


class Site:
    def __init__(self, port, session, machine):
        self.base = f"http://127.0.0.1:{port}"
        self.session = session
        self.machine = machine

    async def ask(self, method, path, body=None, content=None, token=TOKEN, **headers):
        """``body``: as JSON; ``content``: bytes as they are."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if method != "GET":
            content = json.dumps({} if body is None else body).encode() if content is None else content
            headers.setdefault("Content-Type", "application/json")
        address = f"{self.base}/api/v1{path}"
        async with self.session.request(
            method,
            address,
            data=None if content is None else io.BytesIO(content),
            headers=headers,
            allow_redirects=False,
        ) as answer:
            text = await answer.read()
            assert "Traceback" not in text.decode()
            return answer.status, json.loads(text)

    async def order(self, name, **more):
        return await self.ask("POST", "/crawls", {"name": name, "seeds": SEEDS, **more})


@asynccontextmanager
async def served(root, **options):
    machine = Folders(root)
    folder = ServiceFolder(root)
    folder.hold()
    store = options.pop("store", folder)
    settings = Settings()
    settings.setmodule("webcrawl.settings", "project")
    supervisor = Supervisor(machine, store, 2, 2)
    service = Service(
        machine,
        folder,
        supervisor,
        settings,
        order_settings=order_settings(private=True),
        clock=options.pop("clock", time.time),
    )
    listener = Listener(
        ServiceSite(service, Access("127.0.0.1", TOKEN, operators=lambda: OPERATORS), 2).application
    )
    await listener.start("127.0.0.1", 0)
    await service.begin()
    try:
        async with ClientSession() as session:
            yield Site(listener.port, session, machine)
    finally:
        await listener.stop()
        await service.close()


def run(root, test, **options):
    async def all_of_it():
        async with served(root, **options) as site:
            return await test(site)

    return asyncio.run(all_of_it())
