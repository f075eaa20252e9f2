"""What lies between a worker and Redis, as a test wants it: each exchange in turns of the loop, or cut off halfway.

The server is a real one; what is between it and the backend is not, so that a run is the same each time it is played.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from redis import exceptions

from webcrawl.storage.redis.server import OPERATIONS, script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

    from tests.properties.journal import Journal


class Line:
    """A worker's way to the server. While ``is_down`` nothing gets through. ``cuts`` says of which operation's next
    call how much is carried out (0 to 1) before the connection breaks and all answers are lost; ``""`` stands for
    whatever is sent next.
    """

    def __init__(self, client: Redis, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self.mark = journal.mark()
        """Where the server's journal ended behind the last exchange."""
        self.is_down = False
        self.cuts: dict[str, float] = {}
        self.crawl = ""

    def carry_out(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers, errors among them. :raises redis.exceptions.ConnectionError: they are lost"""
        if self.is_down:
            raise exceptions.ConnectionError("the line is down")
        part = self._part(commands)
        with self._client.pipeline(transaction=False) as pipeline:
            for command in commands[: round(part * len(commands))]:
                pipeline.execute_command(*command)
            answers = pipeline.execute(raise_on_error=False)
        self.mark = self._journal.mark()
        if part < 1 or self._is_cut:
            raise exceptions.ConnectionError("the connection broke")
        return answers

    def _part(self, commands: Sequence[tuple[Any, ...]]) -> float:
        self._is_cut = False
        for operation in list(self.cuts):
            sha = operation and script(operation, self.crawl).sha
            if not operation or any(command[:2] == ("EVALSHA", sha) for command in commands):
                self._is_cut = True
                return self.cuts.pop(operation)
        return 1.0


class Wire:
    """Takes the place of ``redis.asyncio.Redis``, as far as the backend knows it."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.connection_pool = _Pool()

    async def exchange(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        await asyncio.sleep(0)
        answers = self._line.carry_out(commands)
        await asyncio.sleep(0)
        return answers

    async def execute_command(self, *words: Any) -> Any:
        [answer] = await self.exchange([words])
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def info(self, section: str = "default") -> dict[str, Any]:
        answer: dict[str, Any] = await self.execute_command("INFO", section)
        return answer

    def pipeline(self, transaction: bool) -> _Pipeline:
        assert not transaction
        return _Pipeline(self)

    async def aclose(self) -> None:
        """There is nothing to close."""


class _Pool:
    async def disconnect(self, inuse_connections: bool) -> None:
        """There are no connections."""


class _Pipeline:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._commands: list[tuple[Any, ...]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is kept."""

    def execute_command(self, *words: Any) -> None:
        self._commands.append(words)

    async def execute(self, raise_on_error: bool) -> list[Any]:
        assert not raise_on_error
        return await self._wire.exchange(self._commands)


CUTTABLE = ("", *OPERATIONS)
