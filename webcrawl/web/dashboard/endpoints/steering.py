"""Endpoints with which operators change the crawl: settings, exclusions, delays, URLs and commands."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from webcrawl.control.adding import Added
from webcrawl.control.operating import NotObeyed
from webcrawl.errors import ConfigurationError, CrawlError
from webcrawl.features.steering.live_settings import LIVE, VALUE_MOST, as_text
from webcrawl.features.steering.store import KEYS_MOST, PLAIN, Excluded, Operation
from webcrawl.web.access import Denial, Right
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, error_sentence, to_denial
from webcrawl.web.fields import TEXT_MAX, Field

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.control.steering import SettingState

URL_MAX = 8192
URLS_MAX = 1000
"""URLs that are added at once."""
_DELAY_MAX = 86_400.0
OBEY_SECONDS = 4.0
"""Seconds that an answer waits for the result of a command."""
_TYPES = {"switch": "boolean", "whole": "integer", "real": "number", "choice": "choice"}
"""The JSON types of the settings' readers; all others read text."""


class OverlayRow(TypedDict):
    """A value that an operator has set."""

    value: str
    by: str
    at: float


class SettingRow(TypedDict):
    """A setting that can be changed while the crawl runs. Values are text, as on the command line."""

    name: str
    group: str
    value: str
    default: Annotated[str | None, "Null for an argument of the spider."]
    started_with: str
    overlay: OverlayRow | None
    refused: Annotated[dict[str, str], "Why workers do not apply the value, by their names."]
    unit: str
    meaning: str
    allowed: Annotated[str, "Completes the sentence 'must be ...'."]
    type: str
    choices: list[str] | None
    by_command_only: bool


class SettingsAnswer(TypedDict):
    """The settings that can be changed."""

    rows: list[SettingRow]


class ExclusionsAnswer(TypedDict):
    """What was excluded while the crawl ran."""

    rows: list[Excluded]


class AddedAnswer(TypedDict):
    """What became of URLs."""

    rows: list[Added]


class DoneAnswer(TypedDict):
    """What came of a change or a command."""

    sentence: Annotated[str, "What was done."]


class SettingAnswer(DoneAnswer):
    """A setting that was changed. Values are text."""

    name: str
    old: str | None
    value: str | None


class ExclusionAnswer(DoneAnswer):
    """What came of an exclusion."""

    changed: bool


class DelayAnswer(DoneAnswer):
    """The minimum delay of a host."""

    key: str
    delay: float | None
    least: Annotated[float, "The minimum delay of all hosts."]


class CommandAnswer(DoneAnswer):
    """What came of a command."""

    command: str


class ReleaseAnswer(DoneAnswer):
    """The patterns whose quarantine has ended."""

    released: list[str]


class DecisionAnswer(DoneAnswer):
    """The decision on a suggestion."""

    accepted: bool


async def _changed(api: Api, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a change. :raises Denial: the crawl does not take it"""
    try:
        return await api.blocking(function, *arguments)
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error


# -- settings --------------------------------------------------------------------------------------------------


async def settings(api: Api, call: Call) -> SettingsAnswer:
    """Return all settings that can be changed while the crawl runs."""
    return {"rows": [_row(state) for state in await _changed(api, api.source.steering.settings)]}


def _row(setting: SettingState) -> SettingRow:
    kind = _TYPES.get(LIVE[setting.name].reader.read.__qualname__.partition(".")[0], "string")
    override = setting.override
    return {
        "name": setting.name,
        "group": setting.group,
        "value": setting.value,
        "default": setting.default,
        "started_with": setting.started_with,
        "overlay": None
        if override is None
        else {"value": override.value, "by": override.by, "at": override.at},
        "refused": dict(setting.refused),
        "unit": setting.unit,
        "meaning": setting.meaning,
        "allowed": setting.allowed,
        "type": "string" if kind == "choice" else kind,
        "choices": setting.allowed.replace(" or ", ", ").split(", ") if kind == "choice" else None,
        "by_command_only": _is_file(setting.name),
    }


def _is_file(name: str) -> bool:
    return name in LIVE and LIVE[name].is_file


def _may_be_file(text: str) -> bool:
    with suppress(OSError):
        return "/" in text or Path(text).exists()
    return False


async def set_setting(api: Api, call: Call) -> SettingAnswer:
    """Change a setting in all workers."""
    name, value = call.values["name"], call.values["value"]
    text = None if value is None else as_text(value)
    # Who has the token has no shell on this machine: no file is read for them.
    if text and (_is_file(name) or (name == "domains" and _may_be_file(text))):
        raise Denial(400, f"{name}: a file is set with scrapy set {name}=FILE on the machine of the crawl")
    return await _set(api, call, name, text)


async def reset_setting(api: Api, call: Call) -> SettingAnswer:
    """Take a change of a setting back."""
    return await _set(api, call, call.values["name"], None)


async def _set(api: Api, call: Call, name: str, text: str | None) -> SettingAnswer:
    try:
        [changed] = await _changed(api, partial(api.source.steering.set, {name: text}, by=call.by))
    except Denial as denial:
        if name in LIVE or denial.status != 400:
            raise
        raise Denial(404, denial.sentence, allowed=list(LIVE)) from denial
    how = "is as at the start again" if text is None else "is changed"
    return {
        "name": changed.name,
        "old": changed.old,
        "value": changed.new,
        "sentence": f"{changed.name} {how}: {changed.new or 'empty'}. Workers apply it within seconds.",
    }


# -- exclusions and delays -------------------------------------------------------------------------------------


async def exclusions(api: Api, call: Call) -> Any:
    """Return what was excluded while the crawl ran."""
    steering = await _changed(api, api.source.steering.situation)
    return {"rows": [asdict(exclusion) for exclusion in steering.excluded]}


async def exclude(api: Api, call: Call) -> ExclusionAnswer:
    """Exclude a domain or a URL prefix."""
    values = call.values
    is_new = await _changed(
        api, partial(api.source.steering.exclude, values["entry"], values["reason"], by=call.by)
    )
    return {"changed": is_new, "sentence": "It is excluded." if is_new else "It was excluded before."}


async def readmit(api: Api, call: Call) -> ExclusionAnswer:
    """Take an exclusion back."""
    was = await _changed(api, partial(api.source.steering.readmit, call.values["entry"], by=call.by))
    if not was:
        raise Denial(404, "it was not excluded while the crawl ran; an exclusion file is changed by hand")
    return {"changed": True, "sentence": "It is no longer excluded."}


async def set_delay(api: Api, call: Call) -> DelayAnswer:
    """Set the minimum delay of a host."""
    values = call.values
    delay = await _changed(
        api, partial(api.source.steering.set_delay, values["key"], values["delay"], by=call.by)
    )
    if delay.seconds is None:
        sentence = f"{delay.key} has the delay of all hosts again."
    elif delay.seconds < delay.least:
        sentence = f"The minimum delay of all hosts, {delay.least:g} s, is longer and stays in force."
    else:
        sentence = f"{delay.key} has a delay of at least {delay.seconds:g} s."
    return {"key": delay.key, "delay": delay.seconds, "least": delay.least, "sentence": sentence}


# -- URLs and commands -----------------------------------------------------------------------------------------


async def add_urls(api: Api, call: Call) -> Any:
    """Add URLs to the queue, those that the rules of the crawl allow."""
    values = call.values
    add = partial(api.source.steering.add, values["urls"], by=call.by, are_first=values["next"])
    rows = await _changed(api, add)
    return {"rows": [asdict(row) for row in rows]}


async def command(api: Api, call: Call) -> CommandAnswer:
    """Give a command to all workers, and answer with what came of it, if that takes no longer than some seconds."""
    messages: list[str] = []
    asked = Operation(call.values["command"])
    # A dashboard of the crawl's own ends with it, and would not answer.
    seconds = 0.0 if asked is Operation.STOP and api.source.ends_with_crawl else OBEY_SECONDS
    give = partial(api.source.crawl.command, asked, seconds=seconds, tell=messages.append, by=call.by)
    try:
        if not await api.blocking(give):
            messages.append("It has not yet." if seconds else "It ends, and this dashboard with it.")
    except NotObeyed as error:
        raise Denial(409, f"not obeyed: {error_sentence(error)}") from error
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error
    return {"command": str(asked), "sentence": " ".join(messages)}


async def unpark(api: Api, call: Call) -> DoneAnswer:
    """Contact hosts again that are parked or given up."""
    return await _obeyed(api, partial(api.source.steering.unpark, call.values["hosts"], by=call.by))


async def retry(api: Api, call: Call) -> DoneAnswer:
    """Fetch URLs again whose fetch failed."""
    values = call.values
    return await _obeyed(api, partial(api.source.steering.retry, values["host"], values["error"], by=call.by))


async def _obeyed(api: Api, give: Callable[..., Any]) -> DoneAnswer:
    """Give a command, and answer with what came of it, if that takes no longer than some seconds."""
    messages: list[str] = []
    try:
        await api.blocking(partial(give, messages.append, seconds=OBEY_SECONDS))
    except NotObeyed as error:
        raise Denial(409, f"not obeyed: {error_sentence(error)}") from error
    except ConfigurationError as error:
        # A host that the crawl does not know.
        raise Denial(404, error_sentence(error)) from error
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error
    return {"sentence": _sentences(messages)}


async def release(api: Api, call: Call) -> ReleaseAnswer:
    """Release traps: their URLs are queued."""
    give = partial(api.source.steering.release, call.values["traps"], by=call.by)
    try:
        released = await api.blocking(give)
    except ConfigurationError as error:
        # A trap that the crawl does not know.
        raise Denial(404, error_sentence(error)) from error
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error
    if not released:
        return {"released": [], "sentence": "Nothing of it is in quarantine."}
    patterns = [trap.pattern for trap in released]
    withheld = sum(trap.withheld for trap in released)
    sentence = f"{', '.join(patterns[:5])}: released; {withheld:,} URLs that were withheld are queued within seconds."
    return {"released": patterns, "sentence": sentence}


def _sentences(messages: list[str]) -> str:
    return " ".join(
        f"{message[:1].upper()}{message[1:]}{'' if message.endswith('.') else '.'}" for message in messages
    )


async def decide(api: Api, call: Call) -> DecisionAnswer:
    """Accept or reject a suggested URL; an accepted one is added to the queue."""
    values = call.values
    try:
        sentence = await api.blocking(
            partial(api.source.decide, values["id"], accept=values["accept"], by=call.by)
        )
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error
    if sentence is None:
        raise Denial(404, "there is no such suggestion, or it was decided before")
    return {"accepted": values["accept"], "sentence": sentence}


_NAME = Field(
    name="name",
    meaning="the name of the setting",
    required=True,
    least=1,
    most=100,
    pattern=f"^({'|'.join(LIVE)})$",
)
_ENTRY = Field(
    name="entry",
    meaning="a domain such as example.org, or the beginning of URLs",
    required=True,
    least=1,
    most=URL_MAX,
)
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/settings",
        name="settings",
        summary="The settings that can be changed while the crawl runs",
        answer=settings,
        result=json_schema(SettingsAnswer),
    ),
    Endpoint(
        method="PUT",
        path="/settings/{name}",
        name="set_setting",
        summary="Change a setting in all workers; a value of null takes the change back",
        answer=set_setting,
        inside=(_NAME,),
        body=(
            Field(
                name="value",
                meaning="the value, as on the command line",
                kind="scalar",
                required=True,
                most=VALUE_MOST,
            ),
        ),
        right=Right.WRITE,
        result=json_schema(SettingAnswer),
        finds=True,
    ),
    Endpoint(
        method="DELETE",
        path="/settings/{name}",
        name="reset_setting",
        summary="Take the change of a setting back",
        answer=reset_setting,
        inside=(_NAME,),
        right=Right.WRITE,
        result=json_schema(SettingAnswer),
        finds=True,
    ),
    Endpoint(
        method="GET",
        path="/exclusions",
        name="exclusions",
        summary="What was excluded while the crawl ran",
        answer=exclusions,
        result=json_schema(ExclusionsAnswer),
    ),
    Endpoint(
        method="POST",
        path="/exclusions",
        name="exclude",
        summary="Exclude a domain, or all URLs with a beginning: nothing of it is fetched any more",
        answer=exclude,
        body=(_ENTRY, Field(name="reason", meaning="the reason, for the journal", default="", most=500)),
        right=Right.WRITE,
        result=json_schema(ExclusionAnswer),
    ),
    Endpoint(
        method="DELETE",
        path="/exclusions",
        name="readmit",
        summary="Take an exclusion back",
        answer=readmit,
        body=(_ENTRY,),
        right=Right.WRITE,
        result=json_schema(ExclusionAnswer),
        finds=True,
    ),
    Endpoint(
        method="PUT",
        path="/hosts/delay",
        name="set_delay",
        summary="Set the minimum delay of a host in seconds; null takes it back",
        answer=set_delay,
        body=(
            Field(name="key", meaning="a host", required=True, least=1, most=300),
            Field(
                name="delay",
                meaning="seconds",
                kind="number",
                required=True,
                least=0,
                most=_DELAY_MAX,
                nullable=True,
            ),
        ),
        right=Right.WRITE,
        result=json_schema(DelayAnswer),
    ),
    Endpoint(
        method="POST",
        path="/urls",
        name="add_urls",
        summary="Add URLs to the queue; each is judged by scope and robots.txt, and none reaches a private address",
        answer=add_urls,
        body=(
            Field(
                name="urls",
                meaning=f"at most {URLS_MAX} URLs",
                kind="strings",
                required=True,
                least=1,
                most=URLS_MAX,
                each_most=URL_MAX,
            ),
            Field(
                name="next",
                meaning="true to fetch them before all other URLs of their hosts, also if they are queued already",
                kind="boolean",
                default=False,
            ),
        ),
        right=Right.WRITE,
        result=json_schema(AddedAnswer),
    ),
    Endpoint(
        method="POST",
        path="/commands",
        name="command",
        summary="Pause the crawl, resume it, stop it, or have it saved; waits some seconds for what comes of it",
        answer=command,
        conflicts=True,
        body=(
            Field(
                name="command",
                meaning="what to do",
                required=True,
                choices=tuple(map(str, PLAIN)),
            ),
        ),
        right=Right.WRITE,
        result=json_schema(CommandAnswer),
    ),
    Endpoint(
        method="POST",
        path="/hosts/unpark",
        name="unpark",
        summary="Contact hosts again that are parked or given up; waits some seconds for what comes of it",
        answer=unpark,
        conflicts=True,
        finds=True,
        body=(
            Field(
                name="hosts",
                meaning="hosts, or all alone",
                kind="strings",
                required=True,
                least=1,
                most=KEYS_MOST,
                each_most=300,
            ),
        ),
        right=Right.WRITE,
        result=json_schema(DoneAnswer),
    ),
    Endpoint(
        method="POST",
        path="/retry",
        name="retry",
        summary="Fetch URLs again whose fetch failed; waits some seconds for what comes of it",
        answer=retry,
        conflicts=True,
        body=(
            Field(name="host", meaning="only URLs of this host and its subdomains", default="", most=300),
            Field(name="error", meaning="only this error, such as timeout or 503", default="", most=100),
        ),
        right=Right.WRITE,
        result=json_schema(DoneAnswer),
    ),
    Endpoint(
        method="POST",
        path="/traps/release",
        name="release",
        summary="End the quarantine of URL patterns: their URLs are queued, and the patterns are never traps again",
        answer=release,
        finds=True,
        body=(
            Field(
                name="traps",
                meaning="ids or patterns, or all alone",
                kind="strings",
                required=True,
                least=1,
                most=1000,
                each_most=URL_MAX,
            ),
        ),
        right=Right.WRITE,
        result=json_schema(ReleaseAnswer),
    ),
    Endpoint(
        method="POST",
        path="/suggestions/{id}",
        name="decide",
        summary="Accept a suggested URL, which adds it to the queue, or reject it",
        answer=decide,
        inside=(Field(name="id", meaning="of the suggestion", required=True, least=1, most=TEXT_MAX),),
        body=(Field(name="accept", meaning="true to add it", kind="boolean", required=True),),
        right=Right.WRITE,
        result=json_schema(DecisionAnswer),
        finds=True,
    ),
)
