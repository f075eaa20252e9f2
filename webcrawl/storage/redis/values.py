"""Values of Redis commands: text as bytes, and answers that come in one of two forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def encoded(text: str) -> bytes:
    """Return text as bytes for the server; lone surrogates are allowed."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return the text that ``encoded`` was given."""
    return data.decode("utf-8", "surrogatepass")


def pairs(answer: Any) -> list[tuple[bytes, bytes]]:
    """Return names and values: some connections answer with a mapping, others with one after the other."""
    if isinstance(answer, Mapping):
        return list(answer.items())
    return list(zip(answer[::2], answer[1::2], strict=True))
