"""The commands: their words, options and help.

Scrapy imports all of these modules at each start. So they import what their words need, and what carries a command
out is imported when it runs: ``start.py``, ``control``, and the ``command.py`` of the rooms.
"""
