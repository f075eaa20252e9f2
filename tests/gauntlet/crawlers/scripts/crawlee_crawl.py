"""A crawl with Crawlee for Python: the ParselCrawler of its documentation, with its options for polite crawls."""

import asyncio
import json
import os
from datetime import timedelta

from crawlee import ConcurrencySettings, Glob
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext

ORDER = json.loads(os.environ["GAUNTLET_ORDER"])
EXCLUDED = [Glob(f"http://{host}:*/**") for host in ORDER["excluded"]]


async def main() -> None:
    delay = ORDER["delay_seconds"]
    crawler = ParselCrawler(
        respect_robots_txt_file=True,
        # Its limits hold for all hosts together: it has none for a host.
        concurrency_settings=ConcurrencySettings(
            min_concurrency=1,
            desired_concurrency=1,
            max_concurrency=1,
            max_tasks_per_minute=60 / delay if delay else float("inf"),
        ),
        request_handler_timeout=timedelta(seconds=max(1.0, ORDER["request_seconds"])),
        max_request_retries=2,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="all", exclude=EXCLUDED or None)

    await crawler.run(ORDER["seeds"])


asyncio.run(main())
