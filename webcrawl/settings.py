"""The settings that Scrapy reads: components, Scrapy's own settings where the crawl needs other values, and the
defaults of the crawler's settings, which ``webcrawl/config`` declares.

Any of them can be given on the command line with ``-s NAME=VALUE``. ``docs/reference/settings.md`` lists them.

The ``*_BASE`` settings list the components of the crawl. Scrapy adds to them the ``DOWNLOADER_MIDDLEWARES``,
``SPIDER_MIDDLEWARES``, ``EXTENSIONS``, ``DOWNLOAD_HANDLERS`` and ``FEED_EXPORTERS`` of a spider or of the command
line.
"""

from scrapy.settings import default_settings as _scrapy

from webcrawl.config.table import defaults as _defaults

globals().update(_defaults())

BOT_NAME = "webcrawl"
SPIDER_MODULES = ["webcrawl.spiders"]
NEWSPIDER_MODULE = "webcrawl.spiders"
COMMANDS_MODULE = "webcrawl.commands"

# Frontier -----------------------------------------------------------------------------------------------------
SCHEDULER = "webcrawl.scheduler.Scheduler"

# Politeness ---------------------------------------------------------------------------------------------------
# The frontier alone applies politeness. These apply to a crawl without the components of this project.
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 5.0
CONCURRENT_REQUESTS_PER_DOMAIN = 1
AUTOTHROTTLE_ENABLED = False

# Fetching -----------------------------------------------------------------------------------------------------
DOWNLOADER = "webcrawl.engine.downloader.DirectDownloader"
DOWNLOADER_MIDDLEWARES_BASE = {
    **_scrapy.DOWNLOADER_MIDDLEWARES_BASE,
    "webcrawl.downloadermiddlewares.scope.ScopeMiddleware": 100,
    "webcrawl.crawl.feature_middlewares.NearDuplicatesMiddleware": 110,
    "webcrawl.crawl.feature_middlewares.ContentSeenMiddleware": 120,
    "webcrawl.downloadermiddlewares.robots.RobotsMiddleware": 150,
    "webcrawl.downloadermiddlewares.sitemaps.SitemapMiddleware": 160,
    "webcrawl.crawl.feature_middlewares.HintsMiddleware": 165,
    "webcrawl.crawl.feature_middlewares.RevisitsMiddleware": 170,
    "webcrawl.crawl.feature_middlewares.RefusalsMiddleware": 530,
    "webcrawl.downloadermiddlewares.drawing.DrawingMiddleware": 540,
    "webcrawl.downloadermiddlewares.retry.RetryMiddleware": 550,
    "webcrawl.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "webcrawl.crawl.feature_middlewares.WebsubMiddleware": 620,
    "webcrawl.downloadermiddlewares.decoding.DecodingMiddleware": 700,
    "webcrawl.downloadermiddlewares.stats.StatsMiddleware": 850,
    "webcrawl.downloadermiddlewares.outcome.OutcomeMiddleware": 950,
    # The frontier, scope and the download handler do the work of these.
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
}
DOWNLOAD_HANDLERS_BASE = {
    **_scrapy.DOWNLOAD_HANDLERS_BASE,
    "http": "webcrawl.fetching.http.HttpDownloadHandler",
    "https": "webcrawl.fetching.http.HttpDownloadHandler",
}
DOWNLOAD_WARNSIZE = 0
COOKIES_ENABLED = False
HTTPPROXY_ENABLED = False
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en",
}

# Parsing ------------------------------------------------------------------------------------------------------
SPIDER_MIDDLEWARES_BASE = {
    **_scrapy.SPIDER_MIDDLEWARES_BASE,
    "webcrawl.spidermiddlewares.page.PageMiddleware": 10,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
}
CONCURRENT_ITEMS = 2  # the number of tasks that Scrapy starts for every response

# Feeds --------------------------------------------------------------------------------------------------------
FEED_EXPORTERS_BASE = {
    **_scrapy.FEED_EXPORTERS_BASE,
    "csv": "webcrawl.feed_exporters.FlatCsvExporter",
    "parquet": "webcrawl.feed_exporters.ParquetExporter",
}

# Logs, display and extensions ---------------------------------------------------------------------------------
LOG_LEVEL = "INFO"
LOG_FORMATTER = "webcrawl.logs.QuietLogFormatter"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False
EXTENSIONS_BASE = {
    **_scrapy.EXTENSIONS_BASE,
    "webcrawl.extensions.refusals.Refusals": 4,
    "webcrawl.extensions.interpreter.Interpreter": 5,
    "webcrawl.extensions.stopping.Stopping": 6,
    "webcrawl.extensions.loop_watch.LoopWatchdog": 6,
    "webcrawl.extensions.heartbeat.Heartbeat": 7,
    "webcrawl.extensions.exclusions.Exclusions": 8,
    "webcrawl.extensions.frontier_stats.FrontierStats": 9,
    "webcrawl.extensions.crawl_log.CrawlLog": 6,
    "webcrawl.extensions.errors.Errors": 10,
    "webcrawl.extensions.component_logs.ComponentLogs": 10,
    "webcrawl.extensions.statistics.Statistics": 20,
    "webcrawl.extensions.progress.Progress": 30,
    "webcrawl.extensions.progress_log.ProgressLog": 35,
    "webcrawl.extensions.summary.Summary": 40,
    # The first two execute code that they receive, the next two are replaced, the last keeps a pickle in the JOBDIR.
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.remote_control.RemoteControl": None,
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.throttle.AutoThrottle": None,
    "scrapy.extensions.spiderstate.SpiderState": None,
}
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

# Event loop ---------------------------------------------------------------------------------------------------
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
WARN_ON_GENERATOR_RETURN_VALUE = False
