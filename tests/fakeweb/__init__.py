"""A web of our own, served on loopback, whose every page is known beforehand.

    names, web, content   the map: which hosts and pages exist, what they link to, what they say
    truth                 what a perfect crawler would find there
    robots, behaviours/   hosts and pages that misbehave, each in one particular way
    server, answer        bytes on the wire
    log, witness          the server's own access log, and what it says of a crawler's politeness
    dns                   a name server, for names that *.localhost cannot express
    process               the server as a process of its own, so that it shares no CPU time with the crawler
    bench                 the web of the benchmarks: 1,000 hosts, 29 KB and 100 links a page

Everything is a function of a seed: same seed, same web, in every process and Python.
``python -m tests.fakeweb --help`` shows it to a person.
"""

from tests.fakeweb.answer import Answer, Cut, Pause, Request, http_answer
from tests.fakeweb.bench import BenchWeb
from tests.fakeweb.config import Config, Placement
from tests.fakeweb.log import AccessLog, Hit, read_log
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
    "Pause",
    "Placement",
    "Request",
    "Served",
    "Site",
    "Web",
    "http_answer",
    "read_log",
    "serve_in_process",
]
