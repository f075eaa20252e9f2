"""Packages that a setting needs, and that not every environment has: the extras of the package."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def lack_of(packages: Iterable[str]) -> str | None:
    """Return why a setting is refused that needs these packages, given by the names under which they are imported;
    None if all are installed.
    """
    missing = [name.replace("_", "-") for name in dict.fromkeys(packages) if find_spec(name) is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return f"needs {' and '.join(missing)}, which {verb} not installed: pip install {' '.join(missing)}"
