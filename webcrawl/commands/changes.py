"""Prints the changes that operators have made to a crawl."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webcrawl.control.steering import SteeringState
    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.steering.store import HostDelay, Override

_VALUE_MOST = 60
_DELAYS_MOST = 20
"""Delays of hosts that are listed."""


def read_changes(crawl: StoredCrawl | None) -> SteeringState | None:
    """Return what operators have changed; None if that cannot be read, without which the rest is of use."""
    # Scrapy imports all commands at each start.
    from webcrawl.control.steering import read_situation

    try:
        return None if crawl is None else read_situation(crawl)
    except CrawlError:
        return None


def changes_as_text(changes: SteeringState | None) -> Iterator[str]:
    """Yield lines, the first of them empty; none if nothing was changed."""
    if changes is None:
        return
    numbers = {
        "exclusion": len(changes.excluded),
        "URL to queue": changes.waiting_urls,
    }
    parts = [text.things(number, what) for what, number in numbers.items() if number]
    if not changes.overlay and not changes.delays and not parts:
        return
    yield ""
    yield "changed by operators"
    for name, override in changes.overlay.items():
        yield f"  {printable(name)} = {value_in_words(override.value)}  {given_by(override)}"
        refused = {
            worker.worker: worker.refused[name] for worker in changes.workers if name in worker.refused
        }
        yield from not_applied(refused)
    for delay in list(changes.delays.values())[:_DELAYS_MOST]:
        yield f"  {printable(delay.key)}: a delay of at least {delay.seconds:g} s  {given_by(delay)}"
    if (more := len(changes.delays) - _DELAYS_MOST) > 0:
        yield f"  and {text.things(more, 'delay')} of other hosts"
    if parts:
        yield f"  {', '.join(parts)}"


def changes_as_object(changes: SteeringState | None) -> dict[str, Any] | None:
    """Return what goes into JSON."""
    if changes is None:
        return None
    return {
        "settings": {name: asdict(override) for name, override in changes.overlay.items()},
        "exclusions": len(changes.excluded),
        "delays": len(changes.delays),
        "delays_of_hosts": {key: asdict(delay) for key, delay in changes.delays.items()},
        "urls_to_queue": changes.waiting_urls,
    }


def value_in_words(value: str) -> str:
    """Return the beginning of the value of a setting."""
    if not value:
        return "not set"
    return printable(value, _VALUE_MOST) + ("..." if len(value) > _VALUE_MOST else "")


def given_by(override: Override | HostDelay) -> str:
    """Return who set a value, and when."""
    return f"set by {printable(override.by)}, {text.second(override.at)} UTC"


def not_applied(refused: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each worker that does not apply a value."""
    for worker, why in refused.items():
        yield f"    not applied by {printable(worker)}: it {printable(why)}"
