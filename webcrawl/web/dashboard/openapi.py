"""The OpenAPI 3.1 description of the API, made from the table of endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.version import __version__
from webcrawl.web.access import CSRF_HEADER, Right
from webcrawl.web.dashboard.api import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.web.dashboard.api import Endpoint
    from webcrawl.web.fields import Field

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "What is wrong, as a sentence."},
        "allowed": {"description": "The values that are allowed."},
        "problems": {
            "type": "array",
            "items": {"type": "string"},
            "description": "All that is wrong with an order, each in a sentence.",
        },
    },
}
_FAILURES = {
    "400": "A parameter or the body is wrong",
    "401": "The token is missing or wrong",
    "403": "The request comes from a page of another origin, or misses the header of the session",
    "404": "There is nothing of this name",
    "409": "The present state does not allow it; the sentence says why",
    "413": "The body is too large",
    "415": "The body is not application/json",
    "421": "The dashboard has no such name",
    "429": "Too many requests, or too many wrong tokens; Retry-After says how long to wait",
    "503": "The crawl's storage cannot be reached, or the dashboard is busy; Retry-After says how long to wait",
}


def description(endpoints: Iterable[Endpoint], *, public: bool) -> dict[str, Any]:
    """Return the description of these endpoints."""
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(f"{PREFIX}{endpoint.path}", {})[endpoint.method.lower()] = _operation(endpoint)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "webcrawl",
            "version": __version__,
            "description": "State and control of a crawl. Times are epoch seconds, sizes bytes, rates per second.",
        },
        # Relative to the address of this description.
        "servers": [{"url": "../.."}],
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR}},
    }
    if not public:
        document["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {
                "type": "apiKey",
                "in": "header",
                "name": CSRF_HEADER,
                "description": "Together with the cookie of POST /session.",
            },
        }
    return document


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {
            "200": {
                "description": "The answer",
                "content": {endpoint.media_type: {"schema": dict(endpoint.result)}},
            },
            **{status: _failure(status) for status in _statuses(endpoint)},
        },
    }
    parameters = [_parameter(field, "path") for field in endpoint.inside]
    parameters += [_parameter(field, "query") for field in endpoint.query]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        required = [field.name for field in endpoint.body if field.required]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {field.name: field.schema() for field in endpoint.body},
            "additionalProperties": False,
        }
        if required:
            schema["required"] = required
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if endpoint.right is Right.WRITE:
        operation["security"] = [{"token": []}, {"session": []}]
    elif endpoint.right is Right.READ:
        operation["security"] = [{}, {"token": []}]
    return operation


def _statuses(endpoint: Endpoint) -> list[str]:
    wanted = {"400", "403", "421", "429", "503"}
    if endpoint.right is not Right.NONE or endpoint.body is not None:
        wanted.add("401")
    if endpoint.method not in ("GET", "HEAD"):
        wanted |= {"413", "415"}
    if endpoint.finds:
        wanted.add("404")
    if endpoint.conflicts:
        wanted.add("409")
    return sorted(wanted)


def _failure(status: str) -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/Error"}
    return {"description": _FAILURES[status], "content": {"application/json": {"schema": reference}}}


def _parameter(field: Field, where: str) -> dict[str, Any]:
    return {
        "name": field.name,
        "in": where,
        "required": field.required or where == "path",
        "description": field.meaning,
        "schema": field.schema(),
    }
