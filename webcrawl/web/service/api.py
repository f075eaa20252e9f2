"""The table of endpoints of the service, below ``/api/v1``, in the form of the dashboard's."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aiohttp import web

from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import Operation
from webcrawl.web.access import Denial, Right
from webcrawl.web.dashboard.api import ENDPOINTS as DASHBOARDS
from webcrawl.web.dashboard.api import Endpoint
from webcrawl.web.fields import Field
from webcrawl.web.service.cron import EXPRESSION_MAX
from webcrawl.web.service.cron import FIELDS as CRON_FIELDS
from webcrawl.web.service.records import NAME_FORM, CrawlOrder, OrderState
from webcrawl.web.service.schedules import (
    SCHEDULE_NAME_MAX,
    WINDOW_MAX,
    WINDOW_MIN,
    Overlap,
    Repetition,
    RunOutcome,
    Schedule,
    ScheduledOrder,
)
from webcrawl.web.service.service import OrderRefused
from webcrawl.web.service.supervisor import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


async def schedules(api: ServiceApi, call: Call) -> Any:
    """Return all schedules."""
    return {"rows": await api.service.schedule_rows()}


async def schedule(api: ServiceApi, call: Call) -> Any:
    """Return one schedule."""
    with _denials():
        return await api.service.schedule_row(call.values["schedule"])


async def create_schedule(api: ServiceApi, call: Call) -> Any:
    """Add a schedule."""
    values = call.values
    order = ScheduledOrder(
        spider=values["spider"],
        seeds=tuple(values["seeds"] or ()),
        arguments=_pairs("arguments", values["arguments"] or []),
        settings=_pairs("settings", values["settings"] or []),
    )
    new = Schedule(
        name=values["name"],
        order=order,
        cron=values["cron"],
        zone=values["zone"],
        repetition=Repetition(values["repetition"]),
        overlap=Overlap(values["overlap"]),
        window_seconds=values["window_seconds"],
        keep=values["keep"],
        is_enabled=values["enabled"],
        created_at=call.now,
        created_by=call.by,
        changed_at=call.now,
        changed_by=call.by,
    )
    with _denials():
        return await api.service.create_schedule(new)


async def change_schedule(api: ServiceApi, call: Call) -> Any:
    """Change what the body names of a schedule."""
    values = {name: value for name, value in call.values.items() if value is not None}
    for name in ("arguments", "settings"):
        if name in values:
            values[name] = _pairs(name, values[name])
    if "seeds" in values:
        values["seeds"] = tuple(values["seeds"])
    if "overlap" in values:
        values["overlap"] = Overlap(values["overlap"])
    if "enabled" in values:
        values["is_enabled"] = values.pop("enabled")
    of_order = {name: values.pop(name) for name in _OF_ORDER if name in values}
    named = values.pop("schedule")

    def changed(before: Schedule) -> Schedule:
        return replace(
            before,
            **values,
            order=replace(before.order, **of_order),
            changed_at=call.now,
            changed_by=call.by,
        )

    with _denials():
        return await api.service.change_schedule(named, changed)


async def remove_schedule(api: ServiceApi, call: Call) -> Any:
    """Remove a schedule."""
    with _denials():
        await api.service.remove_schedule(call.values["schedule"])
    return {"removed": call.values["schedule"]}


async def run_schedule(api: ServiceApi, call: Call) -> Any:
    """Start the order of a schedule now."""
    with _denials():
        return await api.service.run_schedule(call.values["schedule"], call.by)


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
        "schedule": {
            "type": "string",
            "description": "The schedule that has ordered it; empty: an operator.",
        },
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
_RUN = {
    "type": "object",
    "required": ["planned_at", "outcome", "crawl"],
    "properties": {
        "planned_at": {"type": "number", "description": "The time of the schedule, or of the command."},
        "at": {"type": "number", "description": "The time at which that was decided."},
        "outcome": {"enum": [str(outcome) for outcome in RunOutcome]},
        "reason": {"type": "string"},
        "crawl": {"type": "string", "description": "The crawl that it has started; empty: none."},
        "state": {
            "enum": [*(str(state) for state in OrderState), None],
            "description": "The present state of this crawl; null: it was deleted, or was not started.",
        },
        "has_begun": {"type": "boolean", "description": "The crawl has a dashboard."},
        "by": {"type": "string", "description": "The operator who started it; empty: its time had come."},
        "ended_at": _NUMBER,
        "count": {"type": "integer", "description": "Starts in a row that were skipped or missed."},
        "last_at": {**_NUMBER, "description": "The planned time of the last one of several."},
    },
}
_SCHEDULE = {
    "type": "object",
    "required": ["name", "cron", "zone", "enabled", "next_at", "runs"],
    "properties": {
        "name": {"type": "string"},
        "cron": {"type": "string"},
        "zone": {"type": "string"},
        "meaning": {"type": "string", "description": "The expression in words."},
        "enabled": {"type": "boolean"},
        "next_at": {**_NUMBER, "description": "The next start; null: it is paused."},
        "repetition": {"enum": [str(one) for one in Repetition]},
        "overlap": {"enum": [str(one) for one in Overlap]},
        "window_seconds": {"type": "integer"},
        "keep": {"type": "integer"},
        "spider": {"type": "string"},
        "going": {"type": ["string", "null"], "description": "Its crawl that is not over."},
        "created_by": {"type": "string"},
        "created_at": {"type": "number"},
        "changed_by": {"type": "string"},
        "changed_at": {"type": "number"},
        "runs": {"type": "array", "items": _RUN, "description": "The last runs, the latest one first."},
        "seeds": {"type": "array", "items": {"type": "string"}},
        "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        "settings": {"type": "object", "additionalProperties": {"type": "string"}},
        "upcoming": {"type": "array", "items": {"type": "number"}, "description": "The next starts."},
    },
}
_DESCRIBED = ["name", "group", "meaning", "unit", "allowed", "value"]
_NAME = Field(name="crawl", meaning="the name of the crawl", required=True, least=1, most=64)


_SCHEDULE_NAME = Field(
    name="schedule", meaning="the name of the schedule", required=True, least=1, most=SCHEDULE_NAME_MAX
)
_ORDER = (
    Field(name="spider", meaning="the spider", default=BROAD, least=1, most=100),
    Field(name="seeds", meaning="URLs, for the spider broad", kind="strings", least=0, most=SEEDS_MAX),
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
)
_OF_ORDER = tuple(field.name for field in _ORDER)
_TIMES = (
    Field(
        name="cron",
        meaning=f"the times, a cron expression of five fields: {', '.join(CRON_FIELDS)}",
        required=True,
        least=1,
        most=EXPRESSION_MAX,
    ),
    Field(
        name="zone", meaning="the time zone of the expression, an IANA name", default="UTC", least=1, most=64
    ),
    Field(
        name="overlap",
        meaning="a start while the last crawl is not over is skipped, or waits for its end (one at most)",
        choices=tuple(map(str, Overlap)),
        default=str(Overlap.SKIP),
    ),
    Field(
        name="window_seconds",
        meaning="a start that is late by at most this time is made up for, once; otherwise it is missed",
        kind="integer",
        least=WINDOW_MIN,
        most=WINDOW_MAX,
        default=3600,
    ),
    Field(
        name="keep",
        meaning="crawls of the schedule that are kept when they have ended or failed; older ones are deleted "
        "with everything that they have fetched; 0: all are kept",
        kind="integer",
        least=0,
        most=1000,
        default=0,
    ),
    Field(name="enabled", meaning="false: the schedule is paused", kind="boolean", default=True),
)


def _optional(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields for a change: what is not named stays."""
    return tuple(replace(field, required=False, default=None) for field in fields)


def _endpoint(method: str, path: str, name: str, summary: str, answer: Any, **more: Any) -> Endpoint:
    more.setdefault("result", _ROW)
    more.setdefault("right", Right.READ if method == "GET" else Right.WRITE)
    for inside in (_NAME, _SCHEDULE_NAME):
        if f"{{{inside.name}}}" in path:
            more |= {"inside": (inside,), "finds": True}
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
        "What an order may have: the spiders of the project, the settings with their meanings, and time zones",
        form,
        result={
            "type": "object",
            "required": ["spiders", "settings", "zones"],
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
                "zones": {"type": "array", "items": {"type": "string"}},
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
            *_ORDER,
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
    _endpoint(
        "GET",
        "/schedules",
        "schedules",
        "All schedules of the service, each with its last five runs",
        schedules,
        result={
            "type": "object",
            "required": ["rows"],
            "properties": {"rows": {"type": "array", "items": _SCHEDULE}},
        },
    ),
    _endpoint(
        "POST",
        "/schedules",
        "create_schedule",
        "Have an order started again at times",
        create_schedule,
        body=(
            Field(
                name="name",
                meaning="its name, with which the names of its crawls begin: as that of a crawl, of at most "
                f"{SCHEDULE_NAME_MAX} characters",
                required=True,
                most=64,
            ),
            *_TIMES,
            Field(
                name="repetition",
                meaning="new: each start orders a crawl NAME-TIME with a folder of its own; resume: the first one "
                "orders the crawl NAME, and the others have it go on",
                choices=tuple(map(str, Repetition)),
                default=str(Repetition.NEW),
            ),
            *_ORDER,
        ),
        result=_SCHEDULE,
    ),
    _endpoint(
        "GET",
        "/schedules/{schedule}",
        "schedule",
        "A schedule, with its order, its last fifty runs and its next five starts",
        schedule,
        result=_SCHEDULE,
    ),
    _endpoint(
        "PATCH",
        "/schedules/{schedule}",
        "change_schedule",
        "Change a schedule, also pause it; what the body does not name stays",
        change_schedule,
        body=_optional((*_TIMES, *_ORDER)),
        result=_SCHEDULE,
    ),
    _endpoint(
        "DELETE",
        "/schedules/{schedule}",
        "remove_schedule",
        "Delete a schedule; its crawls stay",
        remove_schedule,
        result={"type": "object", "required": ["removed"], "properties": {"removed": {"type": "string"}}},
    ),
    _endpoint(
        "POST",
        "/schedules/{schedule}/run",
        "run_schedule",
        "Start the order of a schedule once, now",
        run_schedule,
        body=(),
        result=_SCHEDULE,
    ),
)
