"""A crawl as commands see it from outside: by its JOBDIR, or by the Redis that its workers share.

Beside the commands and not among them, since Scrapy imports all that lies there whichever command is given.
"""
