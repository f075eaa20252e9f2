"""The embedded backend: one SQLite file in WAL mode, written by one thread, committed in groups.

``frontier`` implements the contract for the event loop, ``opening`` prepares a file or reports why it cannot be used,
``queues``, ``keys`` and ``seen`` have the statements, ``schema.sql`` the tables.
"""
