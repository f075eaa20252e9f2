"""The seen test, bucket by bucket, against what is queued."""

from __future__ import annotations

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws, Repair, Stage
from webcrawl.frontier.backends.redis.audit.queues import Sums, Waiting
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, Reader
from webcrawl.frontier.backends.redis.packing import bucket_of
from webcrawl.frontier.records import State


class SeenLook:
    """Goes through the buckets of a shard."""

    def __init__(self, reader: Reader, flaws: Flaws, buckets: int) -> None:
        self._reader = reader
        self._flaws = flaws
        self._buckets = buckets

    async def compare(self, waiting: Waiting, sums: Sums) -> None:
        """Take out of ``waiting`` what is known as queued, and count."""
        numbers = range(waiting.part, self._buckets, waiting.parts)
        for first in range(0, len(numbers), AT_ONCE):
            some = numbers[first : first + AT_ONCE]
            for number, members in zip(some, await self._reader.buckets(some), strict=True):
                for digits, states in self._sort(number, members).items():
                    self._judge(number, digits, states, waiting, sums)

    def stray(self, number: int, members: list[bytes]) -> None:
        """A bucket behind the last one: its members belong into others."""
        self._sort(number, members)

    def _sort(self, number: int, members: list[bytes]) -> dict[int, list[int]]:
        """The members that belong into a bucket: states by digits."""
        found: dict[int, list[int]] = {}
        for member in members:
            value = _value(member)
            if value is None:
                name = f"a member of seen:{number}"
                self._flaws.add(Kind.UNREADABLE, name, repr(member), self._remove(number, member))
                continue
            right = bucket_of(value, self._buckets)
            if right != number:
                add = Repair(Stage.STRUCTURE, "restate", right, (member, 1))
                detail = f"in seen:{number}, not in seen:{right}"
                self._flaws.add(Kind.MISPLACED, _named(value), detail, add, self._remove(number, member))
                continue
            digits, state = (value // 10, value % 10) if value > 0 else (-(-value // 10), -value % 10)
            found.setdefault(digits, []).append(state)
        return found

    def _judge(self, number: int, digits: int, states: list[int], waiting: Waiting, sums: Sums) -> None:
        # A URL gets another state than queued when it is over with it: that one stands.
        state = min(states, key=lambda one: one or len(State))
        if len(states) > 1:
            wrong = [self._remove(number, b"%d%d" % (digits, one)) for one in states if one != state]
            names = " and ".join(State(one).name.lower() for one in sorted(states))
            self._flaws.add(Kind.TWO_STATES, _named(digits * 10), names, *wrong)
        sums.states[state] += 1
        if state:
            if digits in waiting.digits:
                waiting.settled[digits] = state
        elif digits in waiting.digits:
            waiting.digits.discard(digits)
        else:
            forget = self._remove(number, b"%d0" % digits, Stage.STATES)
            self._flaws.add(Kind.NOWHERE, _named(digits * 10), "", forget)

    @staticmethod
    def _remove(number: int, member: bytes, stage: Stage = Stage.STRUCTURE) -> Repair:
        return Repair(stage, "restate", number, (member, 0))


def _value(member: bytes) -> int | None:
    """Digits and state as one number, None when they are none."""
    try:
        value = int(member)
    except ValueError:
        return None
    return value if b"%d" % value == member and abs(value) >= 10 and abs(value) % 10 < len(State) else None


def _named(value: int) -> str:
    """A URL of which only its fingerprint is left, all but the last digit."""
    digits = abs(value) // 10
    return f"fingerprint {'-' if value < 0 else ''}{digits}x"
