"""The table of endpoints of the service, below ``/api/v1``, in the form of the dashboard's."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from aiohttp import web

from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import Operation
from webcrawl.web.access import Denial, Right
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.api import ENDPOINTS as DASHBOARDS
from webcrawl.web.dashboard.api import Endpoint
from webcrawl.web.fields import Field
from webcrawl.web.service.cron import EXPRESSION_MAX
from webcrawl.web.service.cron import FIELDS as CRON_FIELDS
from webcrawl.web.service.order_form import FormAnswer
from webcrawl.web.service.records import NAME_FORM, CrawlOrder
from webcrawl.web.service.schedule_rows import ScheduleRow
from webcrawl.web.service.schedules import (
    SCHEDULE_NAME_MAX,
    WINDOW_MAX,
    WINDOW_MIN,
    Overlap,
    Repetition,
    Schedule,
    ScheduledOrder,
)
from webcrawl.web.service.service import OrderRefused, ServiceRow
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


class CrawlsAnswer(TypedDict):
    """All crawls of the service."""

    running_max: Annotated[int, "Crawls that run at the same time."]
    rows: list[ServiceRow]


class SentenceAnswer(TypedDict):
    """What came of a command."""

    sentence: str


class SeedsAnswer(TypedDict):
    """What came of seeds."""

    added: int
    sentence: str


class RemovedAnswer(TypedDict):
    """The name of what was deleted."""

    removed: str


class OutputAnswer(TypedDict):
    """The last lines of a crawl's output."""

    lines: list[str]


class SchedulesAnswer(TypedDict):
    """All schedules of the service."""

    rows: list[ScheduleRow]


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


async def crawls(api: ServiceApi, call: Call) -> CrawlsAnswer:
    """Return all crawls."""
    return {"running_max": api.running_max, "rows": await api.service.rows()}


async def form(api: ServiceApi, call: Call) -> FormAnswer:
    """Return what an order may have."""
    return await api.service.form()


async def create(api: ServiceApi, call: Call) -> ServiceRow:
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


async def crawl(api: ServiceApi, call: Call) -> ServiceRow:
    """Return one crawl."""
    with _denials():
        return await api.service.row(call.values["crawl"])


async def start(api: ServiceApi, call: Call) -> ServiceRow:
    """Start a crawl."""
    with _denials():
        return await api.service.start(call.values["crawl"])


async def stop(api: ServiceApi, call: Call) -> ServiceRow:
    """Stop a crawl."""
    with _denials():
        return await api.service.stop(call.values["crawl"])


async def command(api: ServiceApi, call: Call) -> SentenceAnswer:
    """Pass a command on to a crawl."""
    with _denials():
        wanted = Operation(call.values["command"])
        return {"sentence": await api.service.command(call.values["crawl"], wanted, call.by)}


async def remove(api: ServiceApi, call: Call) -> RemovedAnswer:
    """Remove a crawl."""
    with _denials():
        await api.service.remove(call.values["crawl"])
    return {"removed": call.values["crawl"]}


async def add_seeds(api: ServiceApi, call: Call) -> SeedsAnswer:
    """Give more seeds to a crawl."""
    with _denials():
        urls = call.values["urls"]
        outcome = await api.service.add_seeds(call.values["crawl"], urls, call.by)
        return {"added": len(urls), "sentence": outcome}


async def log(api: ServiceApi, call: Call) -> OutputAnswer:
    """Return the last lines of the output."""
    with _denials():
        return {"lines": await api.service.log(call.values["crawl"], call.values["lines"])}


async def report(api: ServiceApi, call: Call) -> Any:
    """Return the report, so that nothing in it can act."""
    with _denials():
        page = await api.service.report(call.values["crawl"])
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return web.Response(body=page, content_type="text/html", charset="utf-8", headers=headers)


async def schedules(api: ServiceApi, call: Call) -> SchedulesAnswer:
    """Return all schedules."""
    return {"rows": await api.service.schedule_rows()}


async def schedule(api: ServiceApi, call: Call) -> ScheduleRow:
    """Return one schedule."""
    with _denials():
        return await api.service.schedule_row(call.values["schedule"])


async def create_schedule(api: ServiceApi, call: Call) -> ScheduleRow:
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


async def change_schedule(api: ServiceApi, call: Call) -> ScheduleRow:
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


async def remove_schedule(api: ServiceApi, call: Call) -> RemovedAnswer:
    """Remove a schedule."""
    with _denials():
        await api.service.remove_schedule(call.values["schedule"])
    return {"removed": call.values["schedule"]}


async def run_schedule(api: ServiceApi, call: Call) -> ScheduleRow:
    """Start the order of a schedule now."""
    with _denials():
        return await api.service.run_schedule(call.values["schedule"], call.by)


def _pairs(name: str, items: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE words as pairs. :raises Denial:"""
    wrong = next((item for item in items if "=" not in item), None)
    if wrong is not None:
        raise Denial(400, f"{name}: must be a list of NAME=VALUE, not {wrong[:80]!a}")
    return dict(item.split("=", 1) for item in items)


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
    more.setdefault("result", json_schema(ServiceRow))
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
        result=json_schema(CrawlsAnswer),
    ),
    _endpoint(
        "GET",
        "/form",
        "form",
        "What an order may have: the spiders of the project, the settings with their meanings, and time zones",
        form,
        result=json_schema(FormAnswer),
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
        result=json_schema(SentenceAnswer),
    ),
    _endpoint(
        "POST",
        "/crawls/{crawl}/seeds",
        "add_seeds",
        "Give more seeds to a crawl: a crawl that has begun queues them by its rules",
        add_seeds,
        body=(Field(name="urls", meaning="the URLs", kind="strings", required=True, most=SEEDS_MAX),),
        result=json_schema(SeedsAnswer),
    ),
    _endpoint(
        "DELETE",
        "/crawls/{crawl}",
        "remove",
        "Delete a crawl that is not running, with everything that it has fetched",
        remove,
        result=json_schema(RemovedAnswer),
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
        result=json_schema(OutputAnswer),
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
        result=json_schema(SchedulesAnswer),
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
        result=json_schema(ScheduleRow),
    ),
    _endpoint(
        "GET",
        "/schedules/{schedule}",
        "schedule",
        "A schedule, with its order, its last fifty runs and its next five starts",
        schedule,
        result=json_schema(ScheduleRow),
    ),
    _endpoint(
        "PATCH",
        "/schedules/{schedule}",
        "change_schedule",
        "Change a schedule, also pause it; what the body does not name stays",
        change_schedule,
        body=_optional((*_TIMES, *_ORDER)),
        result=json_schema(ScheduleRow),
    ),
    _endpoint(
        "DELETE",
        "/schedules/{schedule}",
        "remove_schedule",
        "Delete a schedule; its crawls stay",
        remove_schedule,
        result=json_schema(RemovedAnswer),
    ),
    _endpoint(
        "POST",
        "/schedules/{schedule}/run",
        "run_schedule",
        "Start the order of a schedule once, now",
        run_schedule,
        body=(),
        result=json_schema(ScheduleRow),
    ),
)
