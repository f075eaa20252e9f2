"""The check as a whole: how often each shard is checked, and when it is repaired."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from webcrawl.errors import StartRefused
from webcrawl.storage.inspection import CheckResult, Finding, FindingKind, Findings
from webcrawl.storage.redis.check.reader import ShardReader
from webcrawl.storage.redis.check.repairs import Flaw, Repairer
from webcrawl.storage.redis.check.shard import ShardResult, check_shard, strays
from webcrawl.storage.redis.control import Control

APART_SECONDS = 2.0
"""Between two checks of a shard while workers run: longer than a page takes to pass through the storage."""

CHECKS = 3
"""The most checks of a shard whose results differ."""

ROUNDS = 1000
"""The most checks of a shard that is repaired: one for each stage, and more if there is very much to repair."""

Progress = Callable[[int, int], None]


class ConsistencyCheck:
    """Checks the consistency of a crawl, and repairs it.

    While no worker runs one check is exact. Otherwise findings are verified by further checks, and only those
    that are the same in two consecutive checks count; totals that changed during a check are not compared.
    """

    def __init__(
        self,
        control: Control,
        delay_seconds: float,
        *,
        progress: Progress = lambda done, total: None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """``control``: an open one. ``delay_seconds``: of a host whose record is lost. ``progress`` is called with
        the number of shards checked and the number of all."""
        self._control = control
        self._delay_seconds = delay_seconds
        self._progress = progress
        self._pause = pause
        self._counted = 0
        self._readers = [
            ShardReader(control.server, control.spider, number) for number in range(len(control.shards))
        ]

    async def check(self) -> CheckResult:
        """Check everything, and change nothing."""
        checked = CheckResult()
        doubtful: dict[int, set[Finding]] = {}
        for reader in self._readers:
            result = await check_shard(reader, len(self._readers))
            if (result.flaws or result.moved) and (running_workers := await self._control.running_workers()):
                checked.running_workers |= running_workers
                doubtful[reader.number] = _found_in(result)
            else:
                self._count(result, None, checked)
        for left in reversed(range(CHECKS - 1)):
            if doubtful:
                await self._pause(APART_SECONDS)
                doubtful = await self._check_again(doubtful, checked, is_last=not left)
        await self._add_strays(checked)
        checked.running_workers |= await self._control.running_workers()
        self._tell_unchecked(checked)
        return checked

    async def _check_again(
        self, doubtful: dict[int, set[Finding]], checked: CheckResult, *, is_last: bool
    ) -> dict[int, set[Finding]]:
        """Count the shards in which this check finds the same as the one before. Returns the others, which are still
        doubtful."""
        still: dict[int, set[Finding]] = {}
        for number, before in doubtful.items():
            result = await check_shard(self._readers[number], len(self._readers))
            now = _found_in(result)
            if not is_last and (result.moved or not now <= before):
                still[number] = now
                continue
            if result.moved or any(finding.kind is FindingKind.TOTAL for finding in now - before):
                checked.uncompared.append(result.where)
            self._count(result, now & before, checked)
        return still

    async def repair(self) -> CheckResult:
        """Check everything, and repair all flaws that have a repair.

        :raises StartRefused: a worker runs, or began to; repairs made until then stay
        """
        checked = CheckResult()
        await self._refuse_company()
        for reader in self._readers:
            result = await self._repaired(reader, checked.repaired)
            self._count(result, None, checked)
        await self._add_strays(checked)
        self._tell_unchecked(checked)
        return checked

    def _tell_unchecked(self, checked: CheckResult) -> None:
        if any(reader.filters is not None for reader in self._readers):
            checked.unchecked.append("states of single URLs, which FRONTIER_SEEN=bloom does not keep")

    def _count(self, result: ShardResult, sure: set[Finding] | None, checked: CheckResult) -> None:
        """Count the findings of a check, or only those that are ``sure``."""
        checked.urls += result.urls
        checked.queued += result.sums.queued
        checked.hosts += result.sums.hosts
        if sure is None:
            checked.left.merge(result.flaws.findings)
        for finding in sorted(sure or (), key=str):
            checked.left.add(finding)
        self._counted += 1
        self._progress(self._counted, len(self._readers))

    async def _add_strays(self, checked: CheckResult) -> None:
        flaws = await strays(self._control.server, self._control.spider, self._readers)
        checked.left.merge(flaws.findings)

    # -- repairs ---------------------------------------------------------------------------------------------

    async def _repaired(self, reader: ShardReader, repaired: Findings) -> ShardResult:
        """Check and repair in turn until no flaw with a repair is left."""
        before: list[Flaw] = []
        for _ in range(ROUNDS):
            result = await check_shard(reader, len(self._readers))
            some = _first_stage(result.flaws)
            if not some or some == before:
                break
            await self._repair(reader, some, repaired)
            before = some
        return result

    async def _repair(self, reader: ShardReader, flaws: Sequence[Flaw], repaired: Findings) -> None:
        await self._refuse_company()
        repairer = Repairer(reader, await self._control.now(), self._delay_seconds)
        await repairer.repair([flaw.repair for flaw in flaws if flaw.repair is not None])
        for finding in dict.fromkeys(flaw.finding for flaw in flaws if flaw.repair is not None):
            repaired.add(finding)

    async def _refuse_company(self) -> None:
        if running_workers := await self._control.running_workers():
            names = ", ".join(sorted(running_workers))
            raise StartRefused(
                f"nothing is repaired while a worker is running ({names}); stop the crawl first: scrapy stop"
            )


def _found_in(result: ShardResult) -> set[Finding]:
    return {flaw.finding for flaw in result.flaws}


def _first_stage(flaws: Iterable[Flaw]) -> list[Flaw]:
    """Return the flaws that are to be repaired first."""
    mendable = [flaw for flaw in flaws if flaw.repair is not None]
    stage = min((flaw.repair.stage for flaw in mendable if flaw.repair is not None), default=None)
    return [flaw for flaw in mendable if flaw.repair is not None and flaw.repair.stage == stage]
