"""Endpoints for sessions of browsers."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from webcrawl.web.access import Right, Session
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, EndpointReply
from webcrawl.web.fields import Field


class SessionAnswer(TypedDict):
    """What a client may do."""

    public: Annotated[bool, "The dashboard is in public mode."]
    read: bool
    write: bool
    name: Annotated[str, "Of the operator; empty for the owner's token, and without one."]
    csrf: Annotated[str | None, "The value of the header X-CSRF-Token for changes."]
    expires_at: float | None


async def session(api: Api, call: Call) -> SessionAnswer:
    """Say what this browser may do."""
    granted = call.granted
    return _value(granted.right, granted.session, granted.name, public=api.access.public)


async def log_in(api: Api, call: Call) -> Any:
    """Begin a session of a browser."""
    operator = api.access.authenticate(call.values["token"], call.asked, call.now)
    cookie, begun = api.access.sessions.begin(operator, call.now)
    return EndpointReply(_value(operator.right, begun, operator.name), cookie=cookie)


async def log_out(api: Api, call: Call) -> Any:
    """End the session in this browser."""
    return EndpointReply(_value(Right.NONE), cookie="")


def _value(
    right: Right, own: Session | None = None, name: str = "", *, public: bool = False
) -> SessionAnswer:
    return {
        "public": public,
        "read": right >= Right.READ,
        "write": right >= Right.WRITE,
        "name": name,
        "csrf": None if own is None else own.csrf,
        "expires_at": None if own is None else own.expires_at,
    }


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/session",
        name="session",
        summary="What this client may do",
        answer=session,
        right=Right.NONE,
        in_public=True,
        result=json_schema(SessionAnswer),
    ),
    Endpoint(
        method="POST",
        path="/session",
        name="log_in",
        summary="Log in with the token: begin a session of a browser",
        answer=log_in,
        body=(Field(name="token", meaning="the token of the dashboard", required=True, least=1, most=1024),),
        right=Right.NONE,
        result=json_schema(SessionAnswer),
    ),
    Endpoint(
        method="DELETE",
        path="/session",
        name="log_out",
        summary="Log out: delete the cookie of the session",
        answer=log_out,
        right=Right.NONE,
        result=json_schema(SessionAnswer),
    ),
)
