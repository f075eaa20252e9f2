"""The state of a crawl in Redis, Valkey or a Redis Cluster, shared by any number of processes.

Politeness keys are divided among shards; all state of a key, and the indexes in which it is found, are under one hash
tag, so that a small Lua script changes them in one step. ``docs/decisions/0007-redis-backend.md`` has the reasons;
the headers of the scripts in ``lua/`` have each key with its type and content.
"""
