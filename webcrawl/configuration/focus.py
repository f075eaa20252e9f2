"""Settings of focused crawling: what is looked for."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.configuration.readers import EMPTY, Reader, Refusal, real
from webcrawl.configuration.setting import setting
from webcrawl.focus.errors import FocusError
from webcrawl.focus.judge import ALLOWED, judge_of


def focus() -> Reader:
    """What ``judge_of`` takes, as it was typed; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str):
            raise TypeError
        try:
            judge_of(value)
        except FocusError as error:
            raise Refusal(f"must be {ALLOWED} ({error})") from error
        return value.strip()

    return Reader(ALLOWED, read)


@dataclass(frozen=True, kw_only=True)
class FocusSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    focus: str | None = setting(
        focus(), None, "", "what is looked for: keywords, re:, mime:, pages:, model: or module:function"
    )
    focus_relevant: float = setting(
        real(0, 1, above=True), 0.5, "", "the relevance from which on a page counts as found"
    )
