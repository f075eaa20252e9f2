"""The embedded backend: one SQLite file in WAL mode, written by one thread, committed in groups.

``backend`` is the contract's face towards the event loop, ``opening`` makes a file ready or says why it
cannot be used, ``queues``, ``keys`` and ``seen`` are the statements, ``schema.sql`` the tables.
"""

from webcrawl.storage.sqlite.frontier import SqliteBackend

__all__ = ["SqliteBackend"]
