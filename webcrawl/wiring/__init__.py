"""Where rooms of the machine meet Scrapy and each other; built by ``machine.py``, a module a concern.

``seeding`` and ``feeding`` bring seeds and pushed URLs to the frontier, ``seeded`` knows the hosts that the operator
named. ``sharing`` says how the Redis of several processes is reached and what they must agree on, ``storing`` what
the archive and its stores are told. ``page_processing`` goes from a Page and its response to fields, links and notes,
``ordering`` has what scores links, ``focusing`` judges pages and learns, ``revisiting`` tells flights as visits and
queues pages that are due, ``subscribing`` does WebSub, ``hinting`` goes from what a sitemap lists to pages that are
due earlier, ``trapping`` keeps and shares the quarantine, ``segment_crawl`` records what a part of a crawl finds.
"""
