"""The page that the User-Agent links to: it tells site owners what the crawler does and how to exclude it.

It is one HTML file without scripts or external resources. It is readable without its style, on paper, and in dark
mode.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EVERYBODY = "*"
"""The user agent in robots.txt that stands for all crawlers."""

PURPOSE = (
    "This crawler follows links on the public web and keeps a copy of each page that it fetches, with the time of "
    "the request. It does not fill in forms or log in."
)
ANSWER = (
    "First we stop the crawler: we add your site, or the part of it that you name, to a list of sites that the "
    "crawler does not visit. It sends no further requests there.\n\n"
    "Then we read the crawler's log, which has every request with its time and response, and the robots.txt that was "
    "obeyed. We tell you what was fetched from your site, when and at what rate, what we changed, and how you can "
    "block the crawler permanently.\n\n"
    "Please name your site and, if possible, send some lines of your server's log."
)

DATA_USE = (
    "They are kept as an archive of the crawl. Please write to us if you want to know more about their use."
)

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#5a6270;--paper:#fff;--box:#f2f4f6;--rule:#cfd4da;--link:#1d5fa8}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--quiet:#a3abb5;--paper:#15181c;--box:#20252b;--rule:#3a4048;
--link:#8fbdf0}}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:42rem;margin:2rem auto;
padding:0 1rem;overflow-wrap:anywhere}h1{font-size:1.6rem}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
a{color:var(--link)}pre{background:var(--box);border:1px solid var(--rule);padding:.6rem .8rem;white-space:pre-wrap}
code,pre{font:14px/1.45 ui-monospace,monospace}dt{color:var(--quiet)}dd{margin:0 0 .6rem}
@media print{:root{--ink:#000;--quiet:#333;--paper:#fff;--box:#fff;--rule:#888;--link:#000}
body{margin:0;max-width:none}pre{break-inside:avoid}h2{break-after:avoid}}
"""
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A crawler as its page describes it. Times are in seconds."""

    tokens: Sequence[str]
    """The names that robots.txt uses for it, the first of which is shown in examples; an empty one for none."""
    user_agent: str
    contact: str
    """The web or e-mail address of the operator."""
    purpose: str = ""
    """Paragraphs with an empty line between; empty for ``PURPOSE``."""
    answer: str = ""
    """A text on how owners are answered, likewise; empty for ``ANSWER``."""
    addresses: Sequence[str] = ()
    """IP addresses and networks that it uses, if they are to be published."""
    site: str = "domain"
    """The unit that gets one request at a time: a registrable ``domain`` with all its hosts, or a ``host``."""
    min_delay: float = 5.0
    max_delay: float = 60.0
    factor: float = 10.0
    """The pause as a multiple of the response time; 0 for ``min_delay`` always."""
    crawl_delay_max: float = 300.0
    """A site that asks for a longer Crawl-delay is not crawled at all."""
    robots_ttl: float = 86_400.0
    """Seconds that a robots.txt is cached."""
    obeys_meta: bool = True
    obeys_header: bool = True
    nofollow_rels: Sequence[str] = ()
    """Values of ``rel`` with which a link is not followed."""
    records_usage: bool = True
    """True if it records what pages may be used for."""
    purposes: Sequence[str] = ()
    """The words for what the pages are collected for, such as ``search`` and ``train-ai``."""
    usage_withheld: bool = False
    """True if pages that may not be used for all purposes are kept out of the results."""
    usage_refused: bool = False
    """True if they are not requested either, as far as robots.txt says so."""
    data_use: str = ""
    """Paragraphs on what the fetched data are used for, as ``purpose``."""
    runs_scripts: bool = False
    """True if some pages are drawn in a browser."""
    keys_url: str = ""
    """The URL of the public keys, if requests are signed."""
    agent: str = ""
    """The origin that signed requests name."""
    ranges_url: str = ""
    """The URL of the addresses as a file for machines, also a relative one."""
    names: Sequence[tuple[str, str]] = ()
    """Addresses, each with its name in DNS, which leads back to it."""

    @property
    def token(self) -> str:
        return self.tokens[0]


def page(bot: Bot) -> bytes:
    """Return the page as ASCII: it is read correctly whatever encoding the server declares."""
    title = f"About {bot.token or 'this crawler'}"
    body = "\n".join(
        part
        for section in (
            _about,
            _data,
            _signs,
            _verification,
            _delays,
            _robots_txt,
            _in_pages,
            _usage,
            _contact,
        )
        for part in section(bot)
    )
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_text(title)}</title>{_link(bot)}<style>{_STYLE}</style></head>\n<body>\n"
        f"<h1>{_text(title)}</h1>\n{body}\n</body></html>\n"
    )
    return text.encode("ascii", "xmlcharrefreplace")


def _about(bot: Bot) -> Iterator[str]:
    yield "<h2>What it does and why</h2>"
    yield from _paragraphs(bot.purpose or PURPOSE)


def _data(bot: Bot) -> Iterator[str]:
    yield "<h2>What the fetched data are used for</h2>"
    yield from _paragraphs(bot.data_use or DATA_USE)
    if bot.runs_scripts:
        yield (
            "<p>Some pages are drawn in a browser, which runs their scripts. What a script loads is requested like "
            "any page: robots.txt and the delays below apply.</p>"
        )
    else:
        yield "<p>Scripts in pages are not run, and what they would load is not requested.</p>"


def _link(bot: Bot) -> str:
    """Return the element of the head that leads machines to the addresses."""
    return f'<link rel="client-ranges" href="{_text(bot.ranges_url)}">' if bot.ranges_url else ""


def _verification(bot: Bot) -> Iterator[str]:
    if not (bot.agent or bot.addresses or bot.names):
        return
    yield "<h2>How to verify a request</h2>"
    yield "<ul>"
    if bot.agent:
        keys = _text(bot.keys_url)
        yield (
            "<li>By its signature (Web Bot Auth, RFC 9421): each request has the headers "
            "<code>Signature-Agent</code>, <code>Signature-Input</code> and <code>Signature</code>. The first one "
            f"names <code>{_text(bot.agent)}</code>, and the signature is valid under a key in "
            f'<a href="{keys}">{keys}</a>. A request without such a signature was not sent by this crawler.</li>'
        )
    if bot.addresses:
        listed = (
            f', which are also in a <a href="{_text(bot.ranges_url)}">file for machines</a>'
            if bot.ranges_url
            else ""
        )
        yield f"<li>By its address: it is one of the IP addresses above{listed}.</li>"
    if bot.names:
        yield (
            "<li>By DNS: look up the name of the address (reverse DNS). It is one of the following, and the address "
            "of that name is the address of the request."
        )
        yield "<dl>"
        for address, name in bot.names:
            yield f"<dt>{_text(address)}</dt><dd><code>{_text(name)}</code></dd>"
        yield "</dl></li>"
    yield "</ul>"


def _signs(bot: Bot) -> Iterator[str]:
    yield "<h2>How to recognise it</h2>"
    yield "<dl>"
    yield f"<dt>User-Agent of every request</dt><dd><code>{_text(bot.user_agent)}</code></dd>"
    names = " and ".join(f"<code>{_text(token)}</code>" for token in bot.tokens if token)
    names = names or "none: it obeys the rules for all crawlers"
    yield f"<dt>Name in robots.txt (product token)</dt><dd>{names}</dd>"
    if bot.addresses:
        listed = ", ".join(f"<code>{_text(address)}</code>" for address in bot.addresses)
        yield f"<dt>IP addresses</dt><dd>{listed}</dd></dl>"
        yield "<p>Anybody can send this User-Agent. A request from another address was not sent by this crawler.</p>"
        return
    yield "</dl>"
    if bot.agent:
        yield "<p>Anybody can send this User-Agent. The signature of a request shows whether it is genuine.</p>"
        return
    yield (
        "<p>Anybody can send this User-Agent, and the IP addresses of this crawler are not listed here. To find out "
        "whether this crawler sent a request, send us the time of the request and the address that it came from.</p>"
    )


def _delays(bot: Bot) -> Iterator[str]:
    what = "domain, including all its hosts" if bot.site == "domain" else "host"
    pause = f"at least {_seconds(bot.min_delay)}" if bot.min_delay or not bot.factor else ""
    if bot.factor:
        pause += ", or " if pause else ""
        pause += f"{bot.factor:g} times the duration of the last responses"
        pause += " if that is longer" if bot.min_delay else ""
        pause += f" (up to {_seconds(bot.max_delay)})" if bot.max_delay > bot.min_delay else ""
    yield "<h2>How often it sends requests</h2>"
    yield "<ul>"
    yield f"<li>The crawler sends one request at a time to a {what}.</li>"
    if bot.min_delay or bot.factor:
        yield f"<li>After each response the crawler waits {pause}.</li>"
    yield "<li>Requests for robots.txt, redirects and retries obey the same limits as requests for pages.</li>"
    yield (
        "<li>After a response with status 429 or 503 the crawler waits for the time in <code>Retry-After</code>, "
        "at most one day; without that field it waits for a time that doubles. It waits longer each time a site "
        "fails again.</li>"
    )
    yield "</ul>"


def _robots_txt(bot: Bot) -> Iterator[str]:
    name = _text(bot.token or EVERYBODY)
    yield "<h2>How to slow or block it with robots.txt</h2>"
    yield (
        "<p>The crawler fetches <code>/robots.txt</code> first and obeys it according to RFC 9309. While the file "
        "cannot be fetched (a server error, no response) and there is no valid copy, the crawler fetches nothing "
        f"else. It notices a change within {_seconds(bot.robots_ttl)}.</p>"
    )
    if len(bot.tokens) > 1:
        yield "<p>It fetches only what the rules for each of its names allow.</p>"
    elif bot.token:
        yield (
            f"<p>If a group names <code>{name}</code>, the crawler obeys only the rules of that group and ignores "
            "the group for all crawlers (<code>User-agent: *</code>).</p>"
        )
    yield "<p>To block it from the whole site:</p>"
    yield f"<pre>User-agent: {name}\nDisallow: /</pre>"
    yield "<p>To block it from one folder:</p>"
    yield f"<pre>User-agent: {name}\nDisallow: /private/</pre>"
    yield from _slower(bot, name)
    yield (
        "<p>To check what your robots.txt means for this crawler, use any checker that follows RFC 9309, with the "
        f"name <code>{name}</code>.</p>"
    )


def _slower(bot: Bot, name: str) -> Iterator[str]:
    slow = math.ceil(max(10.0, 2 * bot.min_delay))
    slow = min(slow, math.floor(bot.crawl_delay_max))
    if slow < 1:
        yield "<p>A site that sets a <code>Crawl-delay</code> is not crawled at all.</p>"
        return
    yield f"<p>To make it wait at least {_seconds(slow)} between two requests:</p>"
    yield f"<pre>User-agent: {name}\nCrawl-delay: {slow}</pre>"
    yield (
        f"<p>A site that sets a <code>Crawl-delay</code> of more than {_seconds(bot.crawl_delay_max)} is not crawled "
        "at all.</p>"
    )


def _in_pages(bot: Bot) -> Iterator[str]:
    if not (bot.obeys_meta or bot.obeys_header or bot.nofollow_rels):
        return
    yield "<h2>Rules in pages and responses</h2>"
    if bot.obeys_meta or bot.obeys_header:
        yield (
            "<p><code>noindex</code>: the page is left out of everything made from the crawled pages; the archive of "
            "the crawl keeps it as it was fetched. <code>nofollow</code>: the links of the page are not followed. "
            "<code>none</code>: both. The crawler must fetch a page to read these rules; to prevent the request, use "
            "robots.txt.</p>"
        )
    if bot.obeys_meta:
        general = '<meta name="robots" content="noindex, nofollow">'
        named = f'\n<meta name="{bot.token}" content="noindex">' if bot.token else ""
        yield "<p>In the head of a page, for all crawlers" + (" or for this one" if named else "") + ":</p>"
        yield f"<pre>{_text(general + named)}</pre>"
    if bot.obeys_header:
        named = f"\nX-Robots-Tag: {bot.token}: noindex" if bot.token else ""
        yield "<p>In the header of any response, for example of a PDF:</p>"
        yield f"<pre>{_text('X-Robots-Tag: noindex, nofollow' + named)}</pre>"
    if bot.nofollow_rels:
        words = " or ".join(f"<code>{_text(word)}</code>" for word in bot.nofollow_rels)
        yield f"<p>A link whose <code>rel</code> contains {words} is not followed.</p>"


def _usage(bot: Bot) -> Iterator[str]:
    if not bot.records_usage:
        return
    yield "<h2>How to say what your pages may be used for</h2>"
    yield (
        "<p>The crawler reads what you say about use, and records it with each page: <code>Content-Usage</code> and "
        "<code>Content-Signal</code> in robots.txt and in responses, TDMRep, licences of RSL, and "
        "<code>noai</code> in robots directives.</p>"
    )
    if bot.purposes:
        purposes = " and ".join(f"<code>{_text(purpose)}</code>" for purpose in bot.purposes)
        yield f"<p>The pages are collected for {purposes}.</p>"
    if bot.usage_withheld:
        kept = (
            "A page that may not be used for this is left out of everything made from the crawled pages; the "
            "archive of the crawl keeps it as it was fetched."
        )
        refused = " If robots.txt says so, the page is not even requested." if bot.usage_refused else ""
        yield f"<p>{kept}{refused}</p>"
    else:
        yield "<p>It does not change which pages are requested; to prevent requests, use <code>Disallow</code>.</p>"
    yield "<p>For example, to allow search results that lead to your pages, and not the training of models:</p>"
    name = _text(bot.token or EVERYBODY)
    yield (
        f"<pre>User-agent: {name}\nContent-Usage: search=y, train-ai=n\nContent-Signal: search=yes, ai-train=no\n"
        "Allow: /</pre>"
    )


def _contact(bot: Bot) -> Iterator[str]:
    yield "<h2>Contact</h2>"
    yield f"<p>{_linked(bot.contact)}</p>"
    yield "<h2>How we respond to complaints</h2>"
    yield from _paragraphs(bot.answer or ANSWER)


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        if paragraph := " ".join(part.split()):
            yield f"<p>{_text(paragraph)}</p>"


def _linked(contact: str) -> str:
    contact = contact.strip()
    shown = _text(contact)
    if re.fullmatch(r"https?://\S+", contact, re.IGNORECASE):
        return f'<a href="{shown}">{shown}</a>'
    if re.fullmatch(r"[^\s@:/]+@[^\s@:/]+", contact):
        address = _text(quote(_clean(contact), safe="@.+-_"))
        return f'<a href="mailto:{address}">{shown}</a>'
    return shown


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """Return the text without characters that are invisible, control a terminal, or change the text direction."""
    return _UNSEEN.sub("\ufffd", text)


def _seconds(seconds: float) -> str:
    """Return seconds in the largest unit that gives a short number: ``5 seconds``, ``24 hours``."""
    for size, noun in ((3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return _things(seconds / size, noun)
    return _things(seconds, "second")


def _things(number: float, noun: str) -> str:
    return f"{number:g} {noun}{'' if number == 1 else 's'}"
