"""Whether an index says what its WARC file has, and a merged index what the others say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.archive.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.archive.faults import Totals

_SHOWN_MAX = 300


def index_faults(path: Path, expected: Iterator[bytes], totals: Totals) -> Iterator[Fault]:
    """What is wrong with the index at ``path``, which should have the ``expected`` lines, given in order."""
    if not path.exists():
        yield Fault(str(path), "is not there; scrapy archive index makes it again")
        return
    before = b""
    due = next(expected, None)
    with path.open("rb") as stream:
        for line in stream:
            totals.indexed += 1
            if line < before:
                yield Fault(str(path), f"is not sorted: {_shown(line)}")
                return
            before = line
            while due is not None and due < line:
                yield Fault(str(path), f"lacks the line {_shown(due)}")
                due = next(expected, None)
            if line == due:
                due = next(expected, None)
            else:
                yield Fault(str(path), f"has a line that no record has: {_shown(line)}")
    while due is not None:
        yield Fault(str(path), f"lacks the line {_shown(due)}")
        due = next(expected, None)


def _shown(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\n")[:_SHOWN_MAX]
