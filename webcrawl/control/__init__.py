"""Access to a crawl from other processes: by its JOBDIR, or by the Redis that its workers share.

The package is separate from ``commands``, since Scrapy imports all modules there for every command.
"""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Store = TypeVar("Store")


def blocking(function: Callable[Parameters, Coroutine[Any, Any, Result]]) -> Callable[Parameters, Result]:
    """Return a function that runs the coroutine to its end, in an event loop of its own."""

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return asyncio.run(function(*args, **kwargs))

    return run
