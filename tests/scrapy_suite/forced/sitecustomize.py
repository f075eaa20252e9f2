"""Puts the add-on into Scrapy's default settings, in every process whose PYTHONPATH has this folder."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULTS = "scrapy.settings.default_settings"


class _Forced(Loader):
    """Loads the default settings as they are, and adds the add-ons."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.__dict__["ADDONS"] = {"loopback.Loopback": 50, "webcrawl.Addon": 100}


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _DEFAULTS:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Forced(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
