"""What becomes of a leased URL, by the outcome of its fetch: the state that it ends in, or its next attempt."""

from __future__ import annotations

from dataclasses import replace

from webcrawl.frontier.backend import Settled
from webcrawl.frontier.lease import Outcome, Result
from webcrawl.frontier.policies import Policies
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.frontier.tally import Tally

_STATES = {
    Result.FETCHED: State.DONE,
    Result.REDIRECTED: State.DONE,
    Result.FAILED: State.FAILED,
    Result.REFUSED: State.REFUSED,
}


def verdict(entry: UrlEntry, outcome: Outcome, policies: Policies, tally: Tally) -> Settled:
    """The state a URL ends in, or its next attempt; it is counted in ``tally``."""
    result = outcome.result
    if result is Result.ABANDONED:
        return Settled(entry, State.QUEUED, again=_again(entry, entry.attempts, policies))
    if result is Result.RETRY and entry.attempts < policies.retry_times:
        tally.retries += 1
        return Settled(entry, State.QUEUED, again=_again(entry, entry.attempts + 1, policies))
    if result is Result.RETRY:
        result = Result.FAILED
    if result is Result.FAILED:
        tally.failures += 1
    elif result is Result.REDIRECTED:
        tally.redirects += 1
    elif result is Result.REFUSED:
        tally.refused(outcome.rule or "other")
    return Settled(entry, _STATES[result], outcome.rule)


def _again(entry: UrlEntry, attempts: int, policies: Policies) -> UrlEntry:
    return policies.order.place_again(replace(entry, position=0, attempts=attempts))
