"""What a fake web shall be, as plain values that travel to another process as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Option = int | float | str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one behaviour is found: on a share of the pages (or hosts), on named hosts, under named paths.

    ``share`` is of the pages that no other page depends on (of the hosts, for a robots behaviour), so that
    every other page stays reachable whatever the behaviour does. ``hosts`` and ``paths`` (prefixes) narrow
    it; with them and without a share, every page they name is meant, also those that others depend on.
    """

    behaviour: str
    share: float = 0.0
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    options: dict[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """Everything ``python -m tests.fakeweb`` needs to know."""

    kind: Literal["web", "bench", "labyrinth", "gallery", "copies", "ordinary", "variants", "mirrors"] = "web"
    seed: int = 1
    hosts: int = 20
    pages: int | None = 400
    """Pages of all hosts together; None for an endless web. For the bench web: pages of each host. For the web that
    looks like the real one: the most pages of a host."""
    least_pages: int = 1
    """For that web: the least pages of a host."""
    fresh: int = 0
    """For the bench web: how many of a page's hundred links nobody has met before; a multiple of five."""
    sections: tuple[str, ...] = ()
    """For the labyrinth and the webs of copies and mirrors: its sections or sites, all where there are none."""
    links: int = 20
    same_host: float = 0.8
    zipf: float = 1.0
    suffix: str = "localhost"
    per_domain: int = 1
    words: int = 120
    dirty: bool = False
    charsets: bool = False
    placements: tuple[Placement, ...] = ()
    dead: tuple[str, ...] = ()
    """Kinds of hosts that cannot be reached and are linked to: keys of ``dead.DEAD_KINDS``."""
    port: int = 0
    tls: bool = False
    """Whether there is a second listener that speaks TLS with a self-signed certificate."""
    https: float = 0.0
    """Share of the hosts whose URLs are https; needs ``tls``. Their http URLs redirect there."""
    http2: tuple[str, ...] = ()
    """What the hosts do by turns with HTTP/1.1 on https, of ``http2.WAYS``; if there are any, they speak HTTP/2."""
    own_addresses: bool = False
    """Each host has a 127.x.y.z of its own; told by the name server, so it needs ``dns``."""
    keep_alive_seconds: float = 0.0
    """After how long an idle connection is closed; 0 for never."""
    keep_alive_announced: bool = False
    """Whether answers name that time, in whole seconds."""
    round_trip_seconds: float = 0.0
    """How far away the server is: half of it passes before a request is there, and half before its answer is."""
    dns: bool = False
    """Whether a name server answers for all names under ``suffix``."""
    dns_failing: tuple[str, ...] = ()
    """Names (and everything below them) that the name server has trouble with: SERVFAIL."""
    dns_ttl_seconds: int = 300
    dns_silent: bool = False
    """The name server takes questions and never answers."""

    def to_json(self) -> str:
        """Return the configuration as one JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Config:
        """Read what ``to_json`` wrote; fields left out keep their defaults."""
        values: dict[str, Any] = json.loads(text)
        values["placements"] = tuple(
            Placement(
                **{**given, "hosts": tuple(given.get("hosts", ())), "paths": tuple(given.get("paths", ()))}
            )
            for given in values.get("placements", ())
        )
        for name in ("dead", "dns_failing", "http2", "sections"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)
