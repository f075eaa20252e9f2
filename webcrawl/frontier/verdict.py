"""The verdict on a URL that was fetched: the state in which it ends, or its next attempt."""

from __future__ import annotations

from dataclasses import replace

from webcrawl.frontier.lease import Outcome, Result
from webcrawl.frontier.policies import Policies
from webcrawl.frontier.records import QUEUED, Kind, State, UrlEntry, UrlRecord
from webcrawl.frontier.tally import Tally
from webcrawl.storage.contract import Settled

_STATES = {
    Result.FETCHED: State.DONE,
    Result.REDIRECTED: State.DONE,
    Result.FAILED: State.FAILED,
    Result.REFUSED: State.REFUSED,
}


def verdict(entry: UrlEntry, outcome: Outcome, policies: Policies, tally: Tally) -> Settled:
    """Return the state in which a URL ends, or its next attempt; it is counted in ``tally``."""
    result, status = outcome.result, _status(entry, outcome)
    if result is Result.ABANDONED:
        return Settled(entry, QUEUED, _again(entry, entry.attempts, policies))
    if result is Result.RETRY and entry.attempts < policies.retry_times:
        tally.retries += 1
        return Settled(entry, QUEUED._replace(status=status), _again(entry, entry.attempts + 1, policies))
    if result is Result.RETRY:
        result = Result.FAILED
    _count(result, outcome.rule, tally)
    state = _STATES[result]
    tally.done += state is State.DONE
    return Settled(entry, UrlRecord(state, None if state is State.DONE else outcome.rule, status))


def count(outcome: Outcome, tally: Tally) -> None:
    """Count the result of an inline request, of which nothing is stored."""
    tally.retries += outcome.result is Result.RETRY
    _count(outcome.result, outcome.rule, tally)


def _count(result: Result, rule: str | None, tally: Tally) -> None:
    if result is Result.FAILED:
        tally.failures += 1
    elif result is Result.REDIRECTED:
        tally.redirects += 1
    elif result is Result.REFUSED:
        tally.refused(rule or "other")


def _status(entry: UrlEntry, outcome: Outcome) -> int | None:
    """Return the status of the response to a request for the URL itself."""
    if outcome.entry is None or entry.kind in (Kind.ROBOTS, Kind.WEBSUB):
        return None
    return outcome.entry.record.status


def _again(entry: UrlEntry, attempts: int, policies: Policies) -> UrlEntry:
    return policies.order.place_again(replace(entry, position=0, attempts=attempts))
