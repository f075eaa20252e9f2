"""The scorecard: each judged promise with its verdict and evidence, as text, JSON and Markdown."""

from __future__ import annotations

import enum
import json
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Verdict(enum.StrEnum):
    """Whether a promise was kept."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Judged:
    """One promise that was judged.

    ``section`` and ``name`` identify it. ``promise`` is a sentence that is true or false. ``evidence`` is a
    sentence with the figures that decided. ``seconds`` is what the judgement took, crawl included.
    """

    section: str
    name: str
    promise: str
    verdict: Verdict
    evidence: str
    seconds: float = 0.0

    @property
    def has_failed(self) -> bool:
        """Whether the promise was broken; one that does not apply was not."""
        return self.verdict is Verdict.FAIL


def judged(
    section: str, name: str, promise: str, kept: bool | None, evidence: str, seconds: float = 0.0
) -> Judged:
    """Return a judgement: ``kept`` is true, false, or None where the promise does not apply."""
    verdict = Verdict.NOT_APPLICABLE if kept is None else Verdict.PASS if kept else Verdict.FAIL
    return Judged(section, name, promise, verdict, evidence, seconds)


class Stopwatch:
    """Seconds since it was made; ``with stopwatch() as watch: ...`` stops it at the end of the block."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it ran, or has run so far."""
        return (self._ended or time.monotonic()) - self._begun

    def stop(self) -> None:
        """Stop it."""
        self._ended = time.monotonic()


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure a block."""
    watch = Stopwatch()
    try:
        yield watch
    finally:
        watch.stop()


@dataclass(slots=True)
class Scorecard:
    """All that was judged of one crawler."""

    crawler: str
    version: str = ""
    command: str = ""
    """The command that makes this scorecard."""
    rows: list[Judged] = field(default_factory=list)

    def add(self, *rows: Judged) -> None:
        """Add judgements."""
        self.rows += rows

    def extend(self, rows: Iterable[Judged]) -> None:
        """Add judgements."""
        self.rows += rows

    @property
    def failed(self) -> list[Judged]:
        """The promises that were broken."""
        return [row for row in self.rows if row.has_failed]

    @property
    def exit_status(self) -> int:
        """0 where everything was judged and nothing failed, otherwise 1."""
        return 1 if self.failed or not self.rows else 0

    def summary(self) -> str:
        """Return the counts of verdicts in one line."""
        counts = Counter(row.verdict for row in self.rows)
        figures = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
        title = f"{self.crawler} {self.version}".strip()
        return f"{title}: {len(self.rows)} promises judged: {figures}"

    def broken(self) -> list[str]:
        """Return the broken promises by their names, with the evidence."""
        return [f"FAIL  {row.section}/{row.name}: {row.evidence}" for row in self.failed]

    def to_text(self) -> str:
        """Return it for a terminal."""
        lines = [line for row in self.rows for line in lines_of(row)]
        return "\n".join([*lines, self.summary()]) + "\n"

    def to_json(self) -> str:
        """Return it as one JSON object."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        values: dict[str, Any] = json.loads(text)
        rows = [Judged(**{**row, "verdict": Verdict(row["verdict"])}) for row in values.pop("rows")]
        return cls(**values, rows=rows)

    def to_markdown(self) -> str:
        """Return the rows as tables, one a section."""
        lines = []
        for section in dict.fromkeys(row.section for row in self.rows):
            lines += [f"### {section}", "", "| promise | verdict | evidence |", "| --- | --- | --- |"]
            lines += [
                f"| {_cell(row.promise)} | {row.verdict} | {_cell(row.evidence)} |"
                for row in self.rows
                if row.section == section
            ]
            lines.append("")
        return "\n".join(lines)


def lines_of(row: Judged) -> list[str]:
    """Return one judgement as lines for a terminal."""
    verdict = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.NOT_APPLICABLE: "n/a "}[row.verdict]
    return [
        f"{verdict}  {row.section}/{row.name}: {row.promise} ({row.seconds:.1f} s)",
        f"      {row.evidence}",
    ]


def to_json(cards: Iterable[Scorecard]) -> str:
    """Return several scorecards as one JSON array."""
    return json.dumps([asdict(card) for card in cards], indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> list[Scorecard]:
    """Read one scorecard, or several."""
    values = json.loads(text)
    return [
        Scorecard.from_json(json.dumps(value)) for value in (values if isinstance(values, list) else [values])
    ]


def side_by_side(cards: Iterable[Scorecard]) -> str:
    """Return a Markdown table with a row for each promise and a column for each crawler."""
    cards = list(cards)
    promises = {(row.section, row.name): row.promise for card in cards for row in card.rows}
    titles = [f"{card.crawler} {card.version}".strip() for card in cards]
    lines = ["| promise | " + " | ".join(titles) + " |", "| --- |" + " --- |" * len(cards)]
    for key, promise in promises.items():
        cells = []
        for card in cards:
            found = [str(row.verdict) for row in card.rows if (row.section, row.name) == key]
            cells.append(found[0] if found else "-")
        lines.append(f"| {_cell(promise)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
