"""The table of endpoints of the service, below ``/api/v1``, in the form of the dashboard's."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import Operation
from webcrawl.web.access import Denial, Right
from webcrawl.web.dashboard.api import ENDPOINTS as DASHBOARDS
from webcrawl.web.dashboard.api import Endpoint
from webcrawl.web.fields import Field
from webcrawl.web.service.records import NAME_FORM, CrawlOrder, OrderState
from webcrawl.web.service.service import OrderRefused
from webcrawl.web.service.supervisor import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.web.access import Access
    from webcrawl.web.dashboard.api import Call
    from webcrawl.web.service.service import Service

SEEDS_MAX = 10_000
"""Seeds of one request."""
LINES_MAX = 1_000

_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The content security policy of pages that a crawl has written: no script, no request, no cookie."""


@dataclass(slots=True)
class ServiceApi:
    """The objects that endpoints use."""

    service: Service
    access: Access
    running_max: int


@contextmanager
def _denials() -> Iterator[None]:
    """Turn the errors of the service into answers."""
    try:
        yield
    except OrderRefused as error:
        raise Denial(400, str(error), problems=[str(problem) for problem in error.problems]) from error
    except ServiceError as error:
        raise Denial(404 if error.is_missing else 409, str(error)) from error
    except CrawlError as error:
        raise Denial(409, " ".join(str(error).split())) from error
    except OSError as error:
        raise Denial(503, f"the service cannot store that: {error.strerror or error}", 30.0) from error


async def crawls(api: ServiceApi, call: Call) -> Any:
    """Return all crawls."""
    return {"running_max": api.running_max, "rows": await api.service.rows()}


async def form(api: ServiceApi, call: Call) -> Any:
    """Return what an order may have."""
    return await api.service.form()


async def create(api: ServiceApi, call: Call) -> Any:
    """Add a crawl."""
    values = call.values
    order = CrawlOrder(
        name=values["name"],
        spider=values["spider"],
        arguments=_pairs("arguments", values["arguments"] or []),
        settings=_pairs("settings", values["settings"] or []),
        by=call.by,
        at=call.now,
    )
    with _denials():
        return await api.service.create(order, values["seeds"] or [], start=values["start"])


async def crawl(api: ServiceApi, call: Call) -> Any:
    """Return one crawl."""
    with _denials():
        return await api.service.row(call.values["crawl"])


async def start(api: ServiceApi, call: Call) -> Any:
    """Start a crawl."""
    with _denials():
        return await api.service.start(call.values["crawl"])


async def stop(api: ServiceApi, call: Call) -> Any:
    """Stop a crawl."""
    with _denials():
        return await api.service.stop(call.values["crawl"])


async def command(api: ServiceApi, call: Call) -> Any:
    """Pass a command on to a crawl."""
    with _denials():
        wanted = Operation(call.values["command"])
        return {"sentence": await api.service.command(call.values["crawl"], wanted, call.by)}


async def remove(api: ServiceApi, call: Call) -> Any:
    """Remove a crawl."""
    with _denials():
        await api.service.remove(call.values["crawl"])
    return {"removed": call.values["crawl"]}


async def add_seeds(api: ServiceApi, call: Call) -> Any:
    """Give more seeds to a crawl."""
    with _denials():
        urls = call.values["urls"]
        outcome = await api.service.add_seeds(call.values["crawl"], urls, call.by)
        return {"added": len(urls), "sentence": outcome}


async def log(api: ServiceApi, call: Call) -> Any:
    """Return the last lines of the output."""
    with _denials():
        return {"lines": await api.service.log(call.values["crawl"], call.values["lines"])}


async def report(api: ServiceApi, call: Call) -> Any:
    """Return the report, so that nothing in it can act."""
    with _denials():
        page = await api.service.report(call.values["crawl"])
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return web.Response(body=page, content_type="text/html", charset="utf-8", headers=headers)


def _pairs(name: str, items: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE words as pairs. :raises Denial:"""
    wrong = next((item for item in items if "=" not in item), None)
    if wrong is not None:
        raise Denial(400, f"{name}: must be a list of NAME=VALUE, not {wrong[:80]!a}")
    return dict(item.split("=", 1) for item in items)


_NUMBER = {"type": ["number", "null"]}
_ROW = {
    "type": "object",
    "required": ["name", "spider", "state", "since", "reason", "position", "figures"],
    "properties": {
        "name": {"type": "string"},
        "spider": {"type": "string"},
        "state": {"enum": [str(state) for state in OrderState]},
        "is_paused": {"type": "boolean", "description": "It runs, and an operator has paused it."},
        "since": {"type": "number", "description": "The time of this state."},
        "reason": {"type": "string", "description": "Why it is in this state; empty if that is plain."},
        "position": {"type": ["integer", "null"], "description": "Its place among the crawls that wait."},
        "pid": {"type": ["integer", "null"]},
        "crashes": {"type": "integer", "description": "Crashes in a row."},
        "next_start_at": _NUMBER,
        "started_at": _NUMBER,
        "has_begun": {"type": "boolean"},
        "ordered_by": {"type": "string"},
        "ordered_at": {"type": "number"},
        "jobdir": {"type": "string"},
        "figures": {
            "type": "object",
            "additionalProperties": _NUMBER,
            "description": "Of all runs: queued, done, failed, hosts, pages, bytes. Of the present run: "
            "pages_per_second.",
        },
        "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        "settings": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_DESCRIBED = ["name", "group", "meaning", "unit", "allowed", "value"]
_NAME = Field(name="crawl", meaning="the name of the crawl", required=True, least=1, most=64)


def _endpoint(method: str, path: str, name: str, summary: str, answer: Any, **more: Any) -> Endpoint:
    more.setdefault("result", _ROW)
    more.setdefault("right", Right.READ if method == "GET" else Right.WRITE)
    if "{crawl}" in path:
        more |= {"inside": (_NAME,), "finds": True}
    if method != "GET":
        more["conflicts"] = True
    return Endpoint(method=method, path=path, name=name, summary=summary, answer=answer, **more)


ENDPOINTS: tuple[Endpoint, ...] = (
    *(one for one in DASHBOARDS if one.path == "/session"),
    _endpoint(
        "GET",
        "/crawls",
        "crawls",
        "All crawls of the service",
        crawls,
        result={
            "type": "object",
            "required": ["running_max", "rows"],
            "properties": {
                "running_max": {"type": "integer", "description": "Crawls that run at the same time."},
                "rows": {"type": "array", "items": _ROW},
            },
        },
    ),
    _endpoint(
        "GET",
        "/form",
        "form",
        "What an order may have: the spiders of the project, and the settings with their meanings",
        form,
        result={
            "type": "object",
            "required": ["spiders", "settings"],
            "properties": {
                "spiders": {"type": "array", "items": {"type": "string"}},
                "settings": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": _DESCRIBED,
                        "properties": {name: {"type": "string"} for name in _DESCRIBED},
                    },
                },
            },
        },
    ),
    _endpoint(
        "POST",
        "/crawls",
        "create",
        "Order a crawl",
        create,
        body=(
            Field(
                name="name", meaning=f"its name and that of its folder: {NAME_FORM}", required=True, most=64
            ),
            Field(name="spider", meaning="the spider", default=BROAD, least=1, most=100),
            Field(
                name="seeds", meaning="URLs, for the spider broad", kind="strings", least=0, most=SEEDS_MAX
            ),
            Field(
                name="arguments",
                meaning="arguments of the spider as NAME=VALUE, as for scrapy crawl -a",
                kind="strings",
                least=0,
                most=50,
            ),
            Field(
                name="settings",
                meaning="settings as NAME=VALUE, as for scrapy crawl -s",
                kind="strings",
                least=0,
                most=200,
            ),
            Field(name="start", meaning="false: it waits for start", kind="boolean", default=True),
        ),
    ),
    _endpoint("GET", "/crawls/{crawl}", "crawl", "A crawl, with its arguments and settings", crawl),
    _endpoint("POST", "/crawls/{crawl}/start", "start", "Have a crawl run, or go on", start, body=()),
    _endpoint(
        "POST",
        "/crawls/{crawl}/stop",
        "stop",
        "Stop a crawl: open requests are finished, and it stays stopped",
        stop,
        body=(),
    ),
    _endpoint(
        "POST",
        "/crawls/{crawl}/commands",
        "command",
        "Have a crawl that runs pause, resume, or save what it has in memory",
        command,
        body=(
            Field(
                name="command",
                meaning="the command",
                required=True,
                choices=(Operation.PAUSE, Operation.RESUME, Operation.SAVE),
            ),
        ),
        result={
            "type": "object",
            "required": ["sentence"],
            "properties": {"sentence": {"type": "string"}},
        },
    ),
    _endpoint(
        "POST",
        "/crawls/{crawl}/seeds",
        "add_seeds",
        "Give more seeds to a crawl: a crawl that has begun queues them by its rules",
        add_seeds,
        body=(Field(name="urls", meaning="the URLs", kind="strings", required=True, most=SEEDS_MAX),),
        result={
            "type": "object",
            "required": ["added", "sentence"],
            "properties": {"added": {"type": "integer"}, "sentence": {"type": "string"}},
        },
    ),
    _endpoint(
        "DELETE",
        "/crawls/{crawl}",
        "remove",
        "Delete a crawl that is not running, with everything that it has fetched",
        remove,
        result={"type": "object", "required": ["removed"], "properties": {"removed": {"type": "string"}}},
    ),
    _endpoint(
        "GET",
        "/crawls/{crawl}/log",
        "log",
        "The last lines of its output",
        log,
        query=(
            Field(name="lines", meaning="how many", kind="integer", default=100, least=1, most=LINES_MAX),
        ),
        result={
            "type": "object",
            "required": ["lines"],
            "properties": {"lines": {"type": "array", "items": {"type": "string"}}},
        },
    ),
    _endpoint(
        "GET",
        "/crawls/{crawl}/report",
        "report",
        "report.html of its last end",
        report,
        media_type="text/html",
        result={"type": "string"},
    ),
)
