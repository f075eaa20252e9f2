"""A web of our own, served on loopback, whose every page is known beforehand.

    web                   a whole fake web: what a test builds and asks
    names, geography      the map: which hosts and pages exist and what they link to
    content, dirt, dead   what pages say, how badly they write links, and links to dead hosts
    truth                 what a perfect crawler would find there
    robots, behaviours/   hosts and pages that misbehave, each in one particular way; cast says which
    server, connection    bytes on the wire; answer is what they are made of
    log, witness          the server's own access log, and what it says of a crawler's politeness
    dns, tls, ports       a name server for other names than *.localhost, a certificate, dead ports
    process               the server as a process of its own, so that it shares no CPU time with the crawler
    copies                sites that have their pages under several URLs
    variants              articles that come again, nearly the same, and others in the same frame
    mirrors               hosts that serve the same pages, and those that only seem to
    gallery               a page with all that pages embed, on other hosts
    bench                 the web of the benchmarks: 1,000 hosts, 29 KB and 100 links a page

Everything is a function of a seed: same seed, same web, in every process and Python.
``python -m tests.fakeweb --help`` shows it to a person.
"""

from tests.fakeweb.answer import Answer, Cut, Pause, Request, http_answer
from tests.fakeweb.bench import BenchWeb
from tests.fakeweb.config import Config, Placement
from tests.fakeweb.dns import NameServer, Zone
from tests.fakeweb.log import AccessLog, Hit, read_log
from tests.fakeweb.ports import Ports
from tests.fakeweb.process import Served, serve_in_process
from tests.fakeweb.server import FakeWeb, Site
from tests.fakeweb.truth import Fact
from tests.fakeweb.web import Web

__all__ = [
    "AccessLog",
    "Answer",
    "BenchWeb",
    "Config",
    "Cut",
    "Fact",
    "FakeWeb",
    "Hit",
    "NameServer",
    "Pause",
    "Placement",
    "Ports",
    "Request",
    "Served",
    "Site",
    "Web",
    "Zone",
    "http_answer",
    "read_log",
    "serve_in_process",
]
