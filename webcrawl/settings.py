"""All wiring, in the order in which a URL travels; each default with its unit and its meaning.

Any of them can be given on the command line with ``-s NAME=VALUE``. ``docs/settings.md`` has the whole list.

What the crawl consists of stands in the ``*_BASE`` settings. Scrapy adds to them the ``DOWNLOADER_MIDDLEWARES``,
``SPIDER_MIDDLEWARES``, ``EXTENSIONS``, ``DOWNLOAD_HANDLERS`` and ``FEED_EXPORTERS`` of a spider or of the command
line.
"""

from scrapy.settings import default_settings as _scrapy

from webcrawl.scope.url_rules import USELESS_EXTENSIONS

BOT_NAME = "webcrawl"
SPIDER_MODULES = ["webcrawl.spiders"]
NEWSPIDER_MODULE = "webcrawl.spiders"
COMMANDS_MODULE = "webcrawl.commands"

# Who we are ----------------------------------------------------------------------------------------------------
USER_AGENT = ""  # empty: webcrawl/VERSION (+CRAWLER_CONTACT)
CRAWLER_CONTACT = ""  # a web page or e-mail address; without one the public web is not crawled
BOTPAGE_CONTACT = ""  # whom `scrapy botpage` names; empty: CRAWLER_CONTACT
BOTPAGE_ADDRESSES: list[str] = []  # IP addresses and networks that the crawler comes from
BOTPAGE_PURPOSE = ""  # what it does and why, in your words
BOTPAGE_ANSWER = ""  # how site owners are answered
WORKER_NAME = None  # this process in logs and records; None: HOST-PID

# Scope: what may be queued -------------------------------------------------------------------------------------
URLLENGTH_LIMIT = 2083  # characters
DEPTH_LIMIT = 0  # links from a seed; 0: no limit
EXTENSIONS_REFUSED = list(USELESS_EXTENSIONS)
ALLOW_FILE = None  # only URLs in which one of these expressions is found, one a line (RE2 syntax)
DENY_FILE = None  # none in which one of these is found
USELESS_PATHS_FILE = None  # nor one of these; None: webcrawl/scope/useless_paths.txt
TOP_LEVEL_DOMAINS: list[str] = []  # such as "de", "gov.uk"; empty: all
PORTS_ALLOWED: list[int] = []  # empty: all but those of other services
PATH_SEGMENTS_MAX = 0  # 0: no limit
PATH_REPEATS_MAX = 7  # how often a path may say one to four segments in a row; 0: no limit
TRAPS_QUARANTINE = True  # withhold patterns of URLs whose pages bring nothing new
TRAPS_PAGES = 12  # in a row, of combinations of parameters; other shapes in proportion
TRAPS_NEW_SHARE = 0.1  # of what a page says; with less it brings nothing new
TRAPS_WITHHELD_MAX = 1000  # URLs remembered of each, to be queued when it is released
CANONICAL_RULES = ["escapes", "empty_query", "brackets"]  # differences between URLs that do not count
HOST_RULES_FILE = None  # hosts that are one site under several names: startsWith, endsWith, synonym
PAGE_BUDGET = 0  # pages of one politeness key in all, redirects and errors aside; 0: no limit
REQUESTS_PER_KEY_MAX = 0  # requests to one politeness key in all; 0: no limit
LINKS_PER_PAGE_MAX = 5000
LINK_TYPES = [  # where a link has to stand in a page to be taken; there are others, "img" for instance
    *("a", "alternate", "amphtml", "area", "canonical"),
    *("frame", "hreflang", "iframe", "next", "prev", "refresh"),
]
SEED_REFILL_THRESHOLD = 500  # with fewer hosts that have URLs more seeds are asked for, if somebody is asked
SEEDS_COMMAND = ""  # who is asked: a command that writes a file of seeds to its output
SEEDS_HOOK = None  # or an asynchronous function, from the number of hosts that have URLs to lines of seeds
SEEDS_ASK_SECONDS = 60  # between an answer and the next question, at least
EXCLUSION_FILE = None  # domains or URL prefixes never visited, one a line, with comments
EXCLUSION_CHECK_SECONDS = 300  # how often that file is looked at
SITEMAPS_FOLLOW = True  # those that robots.txt names
SITEMAP_URLS_MAX = 50_000  # URLs of one, or sitemaps of an index
SITEMAP_MAX_BYTES = 50 * 1024 * 1024  # unpacked
SITEMAP_NESTED_MAX = 3  # indexes of indexes
ROBOTS_META_OBEY = True  # noindex and nofollow in meta elements
ROBOTS_HEADER_OBEY = True  # the same in X-Robots-Tag
NOFOLLOW_RELS = ["nofollow", "ugc", "sponsored"]  # links with one of these words in rel are not followed
FETCH_PRIVATE_ADDRESSES = (
    False  # True, or a list of networks; a seed's own are allowed as it resolves at first
)

# Frontier: queues, seen URLs, order ------------------------------------------------------------------------------
SCHEDULER = "webcrawl.scheduler.Scheduler"
FRONTIER_BACKEND = None  # sqlite, memory, redis; None: redis where REDIS_URL is set, else sqlite
REDIS_URL = (
    None  # redis://HOST:PORT/DB of the Redis that several processes share; REDIS_PARAMS as for scrapy-redis
)
REDIS_BUDGET_BYTES = 0  # of a server's memory; 0: nine tenths of its maxmemory, if it has one
REDIS_START_URLS_KEY = "%(name)s:start_urls"  # URLs are pushed to this list
MAX_IDLE_TIME_BEFORE_CLOSE = None  # seconds a finished crawl waits for more; 0: for ever, None: not at all
LEASE_SECONDS = 60  # without a sign of life for so long a process has lost its hosts to the others
FRONTIER_ORDER = "breadth_first"  # breadth_first, priority, random, best_first, random_walk, in_links, opic
FRONTIER_PRIORITISER = None  # import path of a function UrlEntry -> level
FRONTIER_BIAS = 2.0  # how much rather a level is drawn than the next lower one
FRONTIER_EXPLORATION = 0.05  # best first: share of turns of any ready host
FRONTIER_REORDERING = 0.1  # share of time for scoring again what is queued; 0: not at all
FRONTIER_RESTART = 0.15  # random_walk: probability of a jump
FRONTIER_ACTIVE_MAX = 20_000  # politeness keys in memory
FRONTIER_SESSION_BUDGET = 8  # URLs of a host in a row, before hosts that wait longer come first
FRONTIER_PATIENCE_SECONDS = 120.0  # how long a crawl with nothing else left waits for a parked host
FRONTIER_QUEUE_MAX = 0  # URLs per politeness key; 0: no limit
FRONTIER_SEEN = "exact"  # exact, bloom
FRONTIER_SEEN_CAPACITY = 10_000_000  # URLs of the first Bloom filter
FRONTIER_SEEN_ERROR_RATE = 1e-4
FRONTIER_CACHE_BYTES = 32 * 1024 * 1024
COMMIT_INTERVAL_SECONDS = 0.1  # how long finished requests wait for others to be stored with them

# Politeness: when a host may be contacted ------------------------------------------------------------------------
POLITENESS_KEY = "domain"  # domain, host
POLITENESS_MODEL = "mean"  # mean, last, fixed
POLITENESS_MIN_DELAY = 5.0  # seconds
POLITENESS_MAX_DELAY = 60.0  # seconds; a Crawl-delay may be longer
POLITENESS_FACTOR = 10.0  # times the download time; 0: the shortest delay always
POLITENESS_UNKNOWN_DELAY = 0.0  # seconds while no download time is known; 0: the shortest delay
POLITENESS_CRAWL_DELAY_MAX = 300.0  # seconds; hosts that ask for more are left alone
POLITENESS_ADDRESS_DELAY = (
    0.0  # seconds between two requests to an IP address, for whichever hosts; 0: no clock
)
POLITENESS_HOST_DELAY = 0.0  # the same for a host name
POLITENESS_DOMAIN_DELAY = 0.0  # the same for a registrable domain
POLITENESS_GROUPS_FILE = None  # sites that share a server: NAME SECONDS SITES, one a line
ROBOTS_TTL_SECONDS = 86_400
ROBOTS_MAX_BYTES = 512_000
ROBOTS_CACHE_SIZE = 262_144  # origins
ROBOTS_MAX_REDIRECTS = 5
ROBOTS_UNREACHABLE_SECONDS = 30 * 86_400
ROBOTS_UNREACHABLE_POLICY = "refuse"  # refuse, copy, allow
HEALTH_FAILURES_TO_PARK = 5
HEALTH_PARK_SECONDS = 60
HEALTH_PARK_MAX_SECONDS = 86_400
HEALTH_PARKS_TO_GIVE_UP = 5
# Politeness has one owner, the frontier. These hold for a crawl in which no part of ours is in force.
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 5.0
CONCURRENT_REQUESTS_PER_DOMAIN = 1
AUTOTHROTTLE_ENABLED = False

# Fetching --------------------------------------------------------------------------------------------------------
CONCURRENT_REQUESTS = 256  # open, or fetched and not yet durable
DOWNLOADER = "webcrawl.engine.downloader.DirectDownloader"
DOWNLOADER_MIDDLEWARES_BASE = {
    **_scrapy.DOWNLOADER_MIDDLEWARES_BASE,
    "webcrawl.downloadermiddlewares.scope.ScopeMiddleware": 100,
    "webcrawl.features.content_seen.middleware.ContentsMiddleware": 120,
    "webcrawl.robots.middleware.RobotsMiddleware": 150,
    "webcrawl.downloadermiddlewares.sitemaps.SitemapMiddleware": 160,
    "webcrawl.features.hints.middleware.HintsMiddleware": 165,
    "webcrawl.features.revisits.middleware.VisitsMiddleware": 170,
    "webcrawl.downloadermiddlewares.retry.RetryMiddleware": 550,
    "webcrawl.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "webcrawl.features.websub.middleware.WebsubMiddleware": 620,
    "webcrawl.fetching.decoding_middleware.DecodingMiddleware": 700,
    "webcrawl.downloadermiddlewares.outcome.OutcomeMiddleware": 950,
    # The frontier, scope and the handler own what these do.
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
DOWNLOAD_TIMEOUT = 60  # seconds for a whole request; what came until then is kept
DOWNLOAD_CONNECT_TIMEOUT = 30  # seconds of it for name, connection and TLS
DOWNLOAD_IDLE_CONNECTIONS = 1024  # kept for a next request; at most half of the files that may be open
DOWNLOAD_MAXSIZE = 1024 * 1024  # bytes; a longer body is cut and marked
DOWNLOAD_TEXT_MAXSIZE = 8 * 1024 * 1024  # bytes of HTML that are read, whatever the archive has of it
DOWNLOAD_WARNSIZE = 0
BODY_MEMORY_BYTES = 256 * 1024 * 1024  # all bodies together, from the first byte until they are archived
DOWNLOAD_ANNOUNCED_MAXSIZE = 32 * 1024 * 1024  # bytes; what is announced longer is not read at all
MIME_TYPES_WANTED = ["text/*", "application/xhtml+xml"]  # of other types the body is not read
REDIRECT_MAX_TIMES = 3
RETRY_TIMES = 2
DNS_NAMESERVERS: list[str] = []  # HOST or HOST:PORT; empty: the system's
COOKIES_ENABLED = False
HTTPPROXY_ENABLED = False
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en",
}

# Parsing ---------------------------------------------------------------------------------------------------------
SPIDER_MIDDLEWARES_BASE = {
    **_scrapy.SPIDER_MIDDLEWARES_BASE,
    "webcrawl.spidermiddlewares.page.PageMiddleware": 10,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
}
CONCURRENT_ITEMS = 2  # Scrapy starts so many tasks for every response
CONTENT_SEEN = "bytes"  # bytes, text (main text too): what another URL had is noticed, and not processed
CONTENT_SEEN_LINKS = "elsewhere"  # elsewhere, never, always
EXTRACTION_PROCESSES = 1  # read pages beside the event loop; 0: on it
PROCESSING_MODULES = ["webcrawl.processing.modules.Head"]  # import paths of what finds fields in pages
PROCESSING_PROCESSES = 2  # at most, for modules that are heavy
PROCESSING_TIMEOUT = 10.0  # seconds for one module on one page
PROCESSING_MEMORY_BYTES = 512 * 1024 * 1024  # of such a process for one page; 0: no limit

# Visiting pages again --------------------------------------------------------------------------------------------
CRAWL_MODE = "once"  # once, continuous
REVISIT_POLICY = "freshness"  # fixed, multiplicative, freshness, or an import path
REVISIT_INTERVAL_SECONDS = 7 * 86_400  # between two visits of a page, before more is known of it
REVISIT_INTERVAL_MIN_SECONDS = 3600
REVISIT_INTERVAL_MAX_SECONDS = 90 * 86_400
REVISIT_FASTER = 0.5  # times the last interval, where it saw a change
REVISIT_SLOWER = 1.5  # times the last interval, where it saw none
REVISIT_PAGES_PER_DAY = None  # the budget of policies that have one; None: by REVISIT_INTERVAL_SECONDS
REVISIT_SHARE = 0.3  # of requests, for pages that are due, of hosts with new URLs
REVISIT_HOSTS_PAGES = 8  # of a host that wait in its queue to be visited again
REVISIT_CHANGE = "body"  # body, text: what has to differ
REVISIT_GONE_MAX = 3  # visits in a row that find a page gone, after which it is visited no more

HINTS_FOLLOW = True  # of sitemaps and feeds: which pages have changed
HINTS_TRUST_MIN = 0.25  # share of a host's claims that must prove true

# Being told of changes (WebSub) ----------------------------------------------------------------------------------
WEBSUB_CALLBACK_URL = (
    None  # where hubs reach the crawl, such as https://crawler.example.org/websub; None: off
)
WEBSUB_LISTEN = "127.0.0.1:8090"  # where a proxy passes on what comes to that URL
WEBSUB_LEASE_SECONDS = 10 * 86_400  # asked for; the hub decides
WEBSUB_SECRET = "https"  # https, always, never: which hubs sign what they push
WEBSUB_DEBOUNCE_SECONDS = 60.0  # between two visits of a page for pushes
WEBSUB_PUSH_MAXSIZE = 8 * 1024 * 1024  # bytes
WEBSUB_SUBSCRIPTIONS_MAX = 10_000
WEBSUB_PER_KEY_MAX = 100  # to pages of one host
WEBSUB_UNSUBSCRIBE = False  # when the crawl has come to its end

# What is kept ----------------------------------------------------------------------------------------------------
JOBDIR = None  # the crawl; the same one again resumes it. None: a fresh folder under crawls/
CHECKPOINT_INTERVAL = 0  # hours between checkpoints that are taken by themselves; 0: never
CHECKPOINT_FOLDER = None  # where they are; None: checkpoints in the JOBDIR
CHECKPOINTS_KEPT = 2  # of these; older ones are deleted
WARC_ENABLED = True
WARC_PAGES = (
    "all"  # of pages that come: all, relevant (to a FOCUS), none; of the others there is the line of the log
)
WARC_ROLL_BYTES = 1_000_000_000
WARC_COMPRESSION_LEVEL = 2  # isal's, 0 to 3
WARC_METADATA = True
WARC_INDEX = True
WARC_UPLOAD = None  # a URL to which closed files are copied: s3://bucket/crawl
WARC_UPLOAD_KEEP = True
LINK_LOG_ENABLED = True  # which page links to what, in links/
LINK_LOG_ROLL_BYTES = 32_000_000
ARCHIVE_SINKS: list[str] = []  # import paths of what else is kept of each request
FETCH_LOG_ROLL_BYTES = 1_000_000_000
FETCH_LOG_KEEP_DAYS = 0.0  # how long what was set aside of it is kept; 0: for good
FEED_EXPORTERS_BASE = {
    **_scrapy.FEED_EXPORTERS_BASE,
    "csv": "webcrawl.feed_exporters.FlatCsvExporter",
    "parquet": "webcrawl.feed_exporters.ParquetExporter",
}
SEARCH_ENGINE = "webcrawl.search.tantivy.Tantivy"  # of the store webcrawl.search.store.SearchIndex
SEARCH_URL = None  # http://HOST:9200/INDEX for an engine that is a server
SEARCH_STEMMER = "english"  # whose rules make one word of crawls and crawling; none
SEARCH_INTERVAL_SECONDS = 10.0  # how often what was fetched is brought into the index

# What a person sees ----------------------------------------------------------------------------------------------
LOG_LEVEL = "INFO"
LOG_FORMATTER = "webcrawl.logs.QuietLogFormatter"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False
STATISTICS_INTERVAL_SECONDS = 10
PROGRESS_LOG_SECONDS = 60  # between two lines of progress.jsonl
LOOP_HELD_SECONDS = 0.05  # CPU time in one turn of the event loop that is told of; 0: not watched
COMPONENT_LOGS = False  # a log of each component, in logs/ of the JOBDIR
PROGRESS_DISPLAY = "auto"  # auto, on, off
ERRORS_UNANTICIPATED_MAX = 20
ERRORS_WINDOW_SECONDS = 60
EXTENSIONS_BASE = {
    **_scrapy.EXTENSIONS_BASE,
    "webcrawl.extensions.refusals.Refusals": 4,
    "webcrawl.extensions.interpreter.Interpreter": 5,
    "webcrawl.extensions.loop_watch.LoopWatchdog": 6,
    "webcrawl.extensions.heartbeat.Heartbeat": 7,
    "webcrawl.extensions.exclusions.Exclusions": 8,
    "webcrawl.features.pushed_urls.extension.Feeding": 9,
    "webcrawl.features.traps.extension.Traps": 9,
    "webcrawl.features.seed_refill.extension.Replenish": 9,
    "webcrawl.features.revisits.extension.Revisits": 9,
    "webcrawl.features.focus.extension.Focus": 9,
    "webcrawl.features.link_scores.extension.Importance": 9,
    "webcrawl.features.websub.extension.Websub": 9,
    "webcrawl.extensions.errors.Errors": 10,
    "webcrawl.extensions.component_logs.ComponentLogs": 10,
    "webcrawl.extensions.statistics.Statistics": 20,
    "webcrawl.extensions.progress.Progress": 30,
    "webcrawl.extensions.progress_log.ProgressLog": 35,
    "webcrawl.features.checkpoints.extension.Checkpoints": 36,
    "webcrawl.extensions.summary.Summary": 40,
    # The first two execute what they are sent, the third is replaced, the fourth keeps a pickle in the JOBDIR.
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.remote_control.RemoteControl": None,
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.spiderstate.SpiderState": None,
}
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

# The loop ----------------------------------------------------------------------------------------------------------
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
WARN_ON_GENERATOR_RETURN_VALUE = False
