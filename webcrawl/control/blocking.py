"""Coroutine functions as ordinary functions, for commands."""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def blocking(function: Callable[Parameters, Coroutine[Any, Any, Result]]) -> Callable[Parameters, Result]:
    """Return a function that runs the coroutine to its end, in an event loop of its own."""

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return asyncio.run(function(*args, **kwargs))

    return run
