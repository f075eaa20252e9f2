"""docs/internals/gauntlet.md, written from measured scorecards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet.scorecard import Scorecard, Verdict, from_json, side_by_side, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/internals/gauntlet.md"
MEASURED = ROOT / "tests" / "data" / "gauntlet.json"
"""The scorecards that the page shows."""
PEERS = " peers"
"""What is in the command of a scorecard that was made to compare crawlers."""

INTRODUCTION = """\
# The gauntlet

<!-- Written by `python -m tests.gauntlet docs`. Change tests/gauntlet/documented.py, not this page. -->

The gauntlet judges a crawler from outside. It serves a web of ordinary and hostile sites on loopback and writes
a log of its own. Its judges read only that log, the files of the crawl, exit statuses and the memory of
processes, never what the crawler says of itself. The code of the web and of the judges imports nothing of
webcrawl; a test checks this.

```sh not-run: it takes a quarter of an hour
make gauntlet                                           # everything, for webcrawl
.venv/bin/python -m tests.gauntlet run --only robots    # one subject
.venv/bin/python -m tests.gauntlet peers                # other crawlers beside webcrawl
```

A row is a promise that is kept or broken. The exit status is 0 if none is broken. `--json FILE` and `--markdown
FILE` write the scorecard; `--keep FOLDER` keeps the logs. `make test` runs one crawl of the same web.

Each site has addresses of its own, `127.77.SUBJECT.HOST`. Loopback addresses outside this network, and ports of
other services within it, have listeners that record every connection: a crawler has no reason to contact them.

## Judging another crawler

An adapter of a few lines in `tests/gauntlet/crawlers/` starts a crawler with seeds, a delay, limits and a
folder. Without one, serve a subject, crawl the seeds that are printed, end the server with Ctrl-C and judge the
folder:

```sh not-run: the crawl between them is yours
.venv/bin/python -m tests.gauntlet serve redirects --folder /tmp/run
.venv/bin/python -m tests.gauntlet judge redirects --folder /tmp/run
```

What only the process can show (exit status, memory, limits that it was given) is then unknown, and rows that
depend on it say so or fail.
"""

OWN = """\
## webcrawl

One process on SQLite and two workers on Redis, and beside these crawls the promises of commands, endpoints,
settings and exit statuses, in one run on two cores that ran all tests beside it: 14 minutes. Without other work it
takes nine.
"""

COMPARISON = """\
## Other crawlers

Each crawler gets each subject alone, with the same seeds, delay, limit of time for a request, limit of
redirects and User-Agent with an address, by its documented options, and is stopped 45 seconds after its first
request (120 for robots.txt, where some hosts never answer). All crawl broadly: no list of hosts is in scope.
webcrawl is judged in the same way here, so that a row may differ from that of `make gauntlet`. The figures below
are of one run, on two cores with little other work: 24 minutes. `python -m tests.gauntlet peers` begins no crawl
after 30 minutes.

* Scrapy is a project of `scrapy startproject` with a `CrawlSpider` (for sitemaps a `SitemapSpider`),
  `DOWNLOAD_DELAY` as asked and without its random part, and a JOBDIR. Its delay counts from the start of a
  request.
* scrapy-redis is the same project with a `RedisCrawlSpider` and two processes. It has no spider for sitemaps.
* Crawlee for Python is its `ParselCrawler` with `respect_robots_txt_file`. It has limits for all hosts together
  only: one request at a time, and as many a minute as the delay allows. It has no option for the number of
  redirects.
* wget2 and HTTrack have one thread or connection, since with more a host may have several requests open.

They are made for other purposes: wget2 and HTTrack for copies of a site, Scrapy and Crawlee for data of sites
that their user has chosen. "-" means that the crawler was not judged, "not applicable" that it has no option
for it.
"""


def write(paths: Sequence[Path]) -> None:
    """Take new scorecards in place of those of the same kind, and write the page."""
    cards = from_json(MEASURED.read_text()) if MEASURED.exists() else []
    for path in paths:
        new = from_json(path.read_text())
        kinds = {PEERS in card.command for card in new}
        cards = [card for card in cards if (PEERS in card.command) not in kinds] + new
    MEASURED.write_text(to_json(cards))
    PAGE.write_text(page(cards))


def page(cards: Sequence[Scorecard]) -> str:
    """Return the page."""
    own = [card for card in cards if PEERS not in card.command]
    compared = [card for card in cards if PEERS in card.command]
    parts = [INTRODUCTION]
    if own:
        parts += [
            OWN,
            _counts(own),
            *(f"## The scorecard of {card.crawler}\n\n{card.to_markdown()}" for card in own),
        ]
        commands = dict.fromkeys(card.command for card in own)
        parts[2] += f"\nMeasured by {', '.join(f'`{command}`' for command in commands)}.\n"
    if compared:
        parts += [COMPARISON, f"Measured by `{compared[0].command}`.\n", _counts(compared), _better(compared)]
        parts.append(side_by_side(compared))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _counts(cards: Sequence[Scorecard]) -> str:
    lines = ["| crawler | version | pass | fail | not applicable |", "| --- | --- | --- | --- | --- |"]
    for card in cards:
        counts = [sum(row.verdict is verdict for row in card.rows) for verdict in Verdict]
        figures = " | ".join(map(str, counts)) if card.rows else "- | - | -"
        lines.append(f"| {card.crawler} | {card.version} | {figures} |")
    return "\n".join(lines) + "\n"


def _better(cards: Sequence[Scorecard]) -> str:
    """Name the promises that a peer keeps and webcrawl does not."""
    ours = {(row.section, row.name): row for row in cards[0].rows}
    lines = []
    for key, row in ours.items():
        keep = [
            card.crawler
            for card in cards[1:]
            for other in card.rows
            if (other.section, other.name) == key and other.verdict is Verdict.PASS
        ]
        if row.has_failed and keep:
            lines.append(f"* {row.promise} Kept by {', '.join(keep)}; {cards[0].crawler}: {row.evidence}.")
    if not lines:
        return "No promise of this table is kept by another crawler and broken by webcrawl.\n"
    return "Other crawlers are better at:\n\n" + "\n".join(lines) + "\n"
