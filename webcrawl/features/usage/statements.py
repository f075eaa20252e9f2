"""Statements about what a page may be used for, and the verdicts that follow from all of them.

Each format has a module of its own, which returns its statements in the purposes of this one. The table of what each
means, and the rules by which they are combined, are in docs/guides/usage-rights.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webcrawl.parsing.text import line
from webcrawl.robots.purposes import NO, PURPOSES, UNKNOWN, YES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

TEXT_MAX = 200
"""Characters of a statement's text that are kept."""

Meaning = tuple[tuple[str, bool], ...]
"""Purposes, each with whether the use is allowed."""


class Statement(NamedTuple):
    """What one place says."""

    format: str
    """The name of the format: ``Content-Usage``, ``Content-Signal``, ``TDMRep``, ``RSL``, ``robots``, ``token``."""
    place: str
    """``robots.txt:3`` (the number of the line), ``header``, ``meta``, ``tdmrep.json:2`` (the number of the rule)
    or a URL."""
    text: str
    """The text as it is written there, in one line."""
    meaning: Meaning = ()
    """Empty if it is kept as it is and decides nothing."""
    rank: int = 0
    """Of statements of one format with a meaning, those of the highest rank count: a format can say that what is
    nearer to the page replaces what is further away."""


def statement(form: str, place: str, text: str, meaning: Meaning = (), rank: int = 0) -> Statement:
    """Return a statement with a text that is safe to show."""
    return Statement(form, place, line(text, TEXT_MAX), meaning, rank)


def counting(statements: Iterable[Statement]) -> list[Statement]:
    """Return the statements that decide: those with a meaning that no other one of their format replaces."""
    deciding = [each for each in statements if each.meaning]
    ranks: dict[str, int] = {}
    for each in deciding:
        ranks[each.format] = max(each.rank, ranks.get(each.format, each.rank))
    return [each for each in deciding if each.rank == ranks[each.format]]


def resolve(statements: Iterable[Statement]) -> dict[str, str]:
    """Return the verdict, ``yes`` or ``no``, for each purpose of which a statement that counts says something.

    One ``no`` outweighs any number of ``yes``, wherever they stand. The verdict for the other purposes is unknown.
    """
    verdicts: dict[str, str] = {}
    for each in counting(statements):
        for purpose, is_allowed in each.meaning:
            if not is_allowed:
                verdicts[purpose] = NO
            else:
                verdicts.setdefault(purpose, YES)
    return {purpose: verdicts[purpose] for purpose in PURPOSES if purpose in verdicts}


def as_record(statements: Sequence[Statement]) -> dict[str, object]:
    """Return verdicts and sources as they are stored with a page; empty if there are no statements.

    A purpose that is not in it is unknown. Of the sources, ``overruled`` marks those that another one of their format
    replaces.
    """
    if not statements:
        return {}
    decisive = set(counting(statements))
    sources: list[dict[str, object]] = []
    for each in dict.fromkeys(statements):
        source: dict[str, object] = {"format": each.format, "place": each.place, "text": each.text}
        source |= {purpose: YES if is_allowed else NO for purpose, is_allowed in each.meaning}
        if each.meaning and each not in decisive:
            source["overruled"] = True
        sources.append(source)
    return {**resolve(statements), "sources": sources}


def is_withheld(
    verdicts: Mapping[str, object], purposes: Collection[str], *, refuses_unknown: bool = False
) -> bool:
    """Return True if a page may not be used for all of ``purposes``, by its verdicts (``resolve`` or
    ``as_record``)."""
    for purpose in purposes:
        verdict = verdicts.get(purpose, UNKNOWN)
        if verdict == NO or (refuses_unknown and verdict != YES):
            return True
    return False


def deciding_source(record: Mapping[str, object], purpose: str) -> Mapping[str, object] | None:
    """Return the source in a stored record that decides about a purpose: the first one that counts and says what the
    verdict is. None if none says anything."""
    verdict = record.get(purpose)
    sources = record.get("sources")
    if verdict is None or not isinstance(sources, list):
        return None
    return next(
        (
            source
            for source in sources
            if isinstance(source, dict) and source.get(purpose) == verdict and not source.get("overruled")
        ),
        None,
    )
