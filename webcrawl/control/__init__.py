"""Access to a crawl from other processes: by its JOBDIR, or by the Redis that its workers share.

The package is separate from ``commands``, since Scrapy imports all modules there for every command.
"""
