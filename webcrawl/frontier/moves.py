"""Moves of queued entries to other levels, in queues of this process and in those without a holder."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.errors import StorageFull
from webcrawl.frontier.active_key import ActiveKey
from webcrawl.frontier.active_keys import ActiveKeys
from webcrawl.frontier.queue_head import EVERYTHING, expected_place
from webcrawl.storage.contract import Backend, Move


class Mover:
    """Moves entries in the backend, and tells the active keys. It moves no entry that is being fetched, and each move
    is carried out only if the entry is still at its position. All methods run on the event loop."""

    def __init__(self, backend: Backend, keys: ActiveKeys) -> None:
        self._backend = backend
        self._keys = keys

    async def change_levels(self, wanted: Sequence[Move], *, are_whole: bool = True) -> list[Move]:
        """Move entries, which must be durable and known to their keys. Returns the moves that were carried out.
        ``are_whole``: False if of the entries only key and place are known.

        :raises webcrawl.errors.StorageFull: some URLs may have been moved
        """
        held: dict[str, ActiveKey] = {}
        moves: list[Move] = []
        for move in wanted:
            active = self._keys.get(move.entry.key)
            if active is None:
                moves.append(move)
            elif active.head.withhold(expected_place(move.entry)):
                held[active.key] = active
                moves.append(Move(move.entry, move.level, active.record.fence))
        with self._keys.moving():
            ours = [move for move in moves if move.fence is not None]
            try:
                moved = await self._backend.change_levels(moves)
            except StorageFull:
                self._update_heads(held, ours, None, are_whole=are_whole)
                raise
            self._update_heads(held, ours, {id(move) for move in moved}, are_whole=are_whole)
        return moved

    def _update_heads(
        self,
        held: dict[str, ActiveKey],
        moves: Sequence[Move],
        moved: set[int] | None,
        *,
        are_whole: bool,
    ) -> None:
        """Update the queue heads of the keys. ``moved``: identities of the moves that were made; None: unknown."""
        for move in moves:
            active = held[move.entry.key]
            active.head.gone(move.entry)
            if moved is None:
                active.head.reopen(EVERYTHING)
            elif id(move) in moved and are_whole:
                active.offer(move.moved())
            elif id(move) in moved:
                active.head.reopen(move.new_position)
            else:
                active.head.reopen(expected_place(move.entry))
        for active in held.values():
            self._keys.place(active)
