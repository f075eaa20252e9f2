"""The names of the workers of one crawl."""

from __future__ import annotations

_MESSAGE = "%(message)s"


def worker_name(given: str | None, number: int) -> str:
    """Return the name of a worker: ``w1`` and so on, behind the WORKER_NAME that was given."""
    return f"{given}-w{number}" if given else f"w{number}"


def named(form: str, worker: str) -> str:
    """Return the format of log lines with the name of the worker before the message."""
    mark = worker.replace("%", "%%")
    return form.replace(_MESSAGE, f"{mark}: {_MESSAGE}") if _MESSAGE in form else f"{mark}: {form}"
