"""The commands as entry points of the installed package, group ``scrapy.commands``: each is an attribute here.

Scrapy loads and creates them at each start, in every project of the environment, so each is imported when it is used.
In projects that do not use this crawler, Scrapy's own commands stay as they are, and the others say what to do.
Outside of a project, the commands that read the folders of crawls work.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from scrapy.commands import ScrapyCommand
    from scrapy.settings import BaseSettings

_OURS = "webcrawl.commands"
_SCHEDULER = "webcrawl.scheduler.Scheduler"


def __getattr__(name: str) -> type:
    """Return the command ``name``, as an object that Scrapy takes for the command's class."""
    if name.startswith("_") or find_spec(f"{_OURS}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return type(name, (_Installed,), {"_name": name})


class _Installed:
    """A command that is chosen and imported when Scrapy asks for anything of it."""

    _name: str
    _chosen: ScrapyCommand | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._command(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._command(), name, value)

    def _command(self) -> ScrapyCommand:
        if self._chosen is None:
            object.__setattr__(self, "_chosen", _chosen(self._name))
        assert self._chosen is not None
        return self._chosen


def _chosen(name: str) -> ScrapyCommand:
    """Return the command for the project that Scrapy finds from here."""
    from scrapy.utils.project import get_project_settings, inside_project

    command: type[ScrapyCommand] = import_module(f"{_OURS}.{name}").Command
    is_inside = inside_project()
    if is_inside and _is_used(get_project_settings()):
        return command()
    if find_spec(f"scrapy.commands.{name}") is not None:
        theirs: type[ScrapyCommand] = import_module(f"scrapy.commands.{name}").Command
        if is_inside or not theirs.requires_project:
            return theirs()
        return _refusing(command, _NO_PROJECT)
    return _refusing(command, _NO_ADDON) if is_inside else command()


def _is_used(settings: BaseSettings) -> bool:
    from webcrawl.addon import is_used

    return is_used(settings) or settings["SCHEDULER"] == _SCHEDULER


_NO_ADDON = (
    "the project in this folder does not use webcrawl; to use it, write into its settings.py: "
    'ADDONS = {"webcrawl.Addon": 100}'
)
_NO_PROJECT = (
    "there is no Scrapy project in this folder; go into one, make one with scrapy startproject, or set the "
    "environment variable SCRAPY_SETTINGS_MODULE=webcrawl.settings for the spider broad"
)


def _refusing(command: type[ScrapyCommand], why: str) -> ScrapyCommand:
    """Return the command, which only says why it is not there."""
    from webcrawl.commands.output import complain

    class Refusing(command):  # type: ignore[valid-type,misc]
        requires_crawler_process = False

        def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
            raise SystemExit(complain(command.__module__.rpartition(".")[2], [why]))

    return Refusing()
