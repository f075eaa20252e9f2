"""The folders and the names of the workers in one JOBDIR."""

from __future__ import annotations

from pathlib import Path

WORKERS = "workers"
"""The folder in the JOBDIR with a folder for each worker, ``1``, ``2`` and so on."""
_MESSAGE = "%(message)s"


def folder_of(jobdir: Path, number: int) -> Path:
    """Return the folder of a worker: its fetch log, archive and other files."""
    return jobdir / WORKERS / str(number)


def jobdir_of(folder: Path) -> Path:
    """Return the JOBDIR to which the folder of a worker belongs."""
    return folder.parent.parent


def folders_in(jobdir: Path) -> list[Path]:
    """Return the folders of all workers in a JOBDIR, also of those that do not run now; none if it has no workers."""
    try:
        numbers = [int(path.name) for path in (jobdir / WORKERS).iterdir() if path.name.isdecimal()]
    except OSError:
        return []
    return [folder_of(jobdir, number) for number in sorted(numbers)]


def worker_name(given: str | None, number: int) -> str:
    """Return the name of a worker: ``w1`` and so on, behind the WORKER_NAME that was given."""
    return f"{given}-w{number}" if given else f"w{number}"


def named(form: str, worker: str) -> str:
    """Return the format of log lines with the name of the worker before the message."""
    mark = worker.replace("%", "%%")
    return form.replace(_MESSAGE, f"{mark}: {_MESSAGE}") if _MESSAGE in form else f"{mark}: {form}"
