"""A crawl of several worker processes on one machine, begun and ended by one command: the setting ``WORKERS``.

The command is the parent. Each worker is a ``scrapy crawl`` of its own with the folder ``workers/N`` of the JOBDIR;
all of them share a storage whose server another process keeps running in the JOBDIR. ``start`` begins and ends the
crawl, ``supervisor`` has the processes, ``policy`` the decisions, ``worker`` and ``extensions`` are the side of the
workers. A crawl of one process imports nothing of this.
"""
