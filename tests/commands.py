"""The project's commands as a person gives them, in this process or in one of their own, and what is left of them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from scrapy import cmdline

from tests import forked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Command = Callable[..., "Done"]

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Done:
    """What is left of a command."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """What it printed; it ended well and had no complaints."""
        assert (self.status, self.err) == (0, ""), self
        return self.out

    @property
    def told(self) -> Any:
        """The same, of one that was asked for JSON."""
        return json.loads(self.said)


def own_process(folder: Path, *words: object, **settings: object) -> Done:
    """``scrapy`` with these words and settings, in a process of its own."""
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "webcrawl.settings", "PYTHONPATH": str(ROOT)}
    done = forked.run([*map(str, words), *_given(settings)], folder, environment)
    return Done(done.returncode, done.stdout, done.stderr)


def in_process(name: str, capsys: pytest.CaptureFixture[str], **always: object) -> Command:
    """The command ``name`` as Scrapy's own entry point gives it, here; ``always``: settings of each time."""

    def run(*words: str, **settings: object) -> Done:
        capsys.readouterr()
        # To read them takes longer than most commands.
        with (
            patch.object(cmdline, "entry_points", _entry_points().select),
            pytest.raises(SystemExit) as ended,
        ):
            cmdline.execute(["scrapy", name, *words, *_given({**always, **settings})])
        told = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, told.out, told.err)

    return run


@cache
def _entry_points() -> Any:
    """Those of all packages that are installed."""
    return metadata.entry_points()


def _given(settings: Mapping[str, object]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
