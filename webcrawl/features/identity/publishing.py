"""The files that a web server serves at the origin of the crawler: key directory, card, address ranges, and the
headers that go with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replace
from webcrawl.features.identity import address_ranges, agent_card, web_bot_auth
from webcrawl.features.identity.agent_card import AgentFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.features.identity.keys import KeyRing

DIRECTORY_MAX_AGE_SECONDS = 86_400
"""The time for which servers that verify signatures keep the directory. A new key begins later than that."""
NGINX = "nginx-identity.conf"
HEADERS, OWN_HEADERS = "_headers", "_headers.identity"
"""The file of headers, and its name in a folder that has such a file of the site's own."""
_MARK = "# Written by scrapy identity write"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of the site, with the headers that its response must have."""

    path: str
    """The path of its URL."""
    body: bytes
    headers: Mapping[str, str]


def keys_url(agent: str) -> str:
    """Return the URL of the key directory of an origin."""
    return agent + web_bot_auth.DIRECTORY_PATH


def card_url(agent: str) -> str:
    """Return the URL of the card of an origin."""
    return f"{agent}/{agent_card.FILE_NAME}"


def ranges_url(agent: str) -> str:
    """Return the URL of the address ranges of an origin."""
    return f"{agent}/{address_ranges.FILE_NAME}"


def published_files(
    configuration: Configuration, agent: str, ring: KeyRing, now: float, proof_seconds: float
) -> Iterator[PublishedFile]:
    """Yield the files of an origin. The proof that the directory is that of the key's holder is valid for so long."""
    body = web_bot_auth.directory(ring, now)
    authority = agent.removeprefix("https://")
    cached = {"Cache-Control": f"max-age={DIRECTORY_MAX_AGE_SECONDS}"}
    # A proxy or a network in front of the server must not compress it either (RFC 9111, section 5.2.2.6).
    unchanged = {"Cache-Control": f"{cached['Cache-Control']}, no-transform"}
    signed = web_bot_auth.directory_fields(
        body, ring.published(now), authority, int(now), int(now + proof_seconds)
    )
    yield PublishedFile(web_bot_auth.DIRECTORY_PATH, body, signed | unchanged)
    json_type = {"Content-Type": "application/json"}
    facts = agent_facts(configuration, agent)
    yield PublishedFile(f"/{agent_card.FILE_NAME}", agent_card.card(facts), json_type | cached)
    if configuration.botpage_addresses:
        ranges = address_ranges.address_ranges(
            configuration.botpage_addresses, configuration.product_tokens[0], now
        )
        yield PublishedFile(f"/{address_ranges.FILE_NAME}", ranges, json_type | cached)


def agent_facts(configuration: Configuration, agent: str) -> AgentFacts:
    """Return the facts of the card, which follow from the settings."""
    given = (configuration.botpage_contact, configuration.crawler_contact)
    contacts = [contact for contact in given if contact]
    pages = [contact for contact in contacts if "://" in contact]
    delay = f"{configuration.politeness_min_delay:g}"
    return AgentFacts(
        url=card_url(agent),
        name=configuration.product_tokens[0] or "crawler",
        page_url=pages[-1] if pages else "",
        contacts=[contact for contact in contacts if "@" in contact] or contacts,
        keys_url=keys_url(agent),
        user_agent=configuration.user_agent,
        product_token=configuration.product_tokens[0],
        purpose=", ".join(configuration.usage_purposes)
        or configuration.botpage_data_use
        or configuration.botpage_purpose,
        rate_expectation=f"one request at a time to a {configuration.politeness_key}, {delay} s or more between two",
        ranges_url=ranges_url(agent) if configuration.botpage_addresses else "",
    )


def write_files(folder: Path, files: list[PublishedFile]) -> Iterator[Path]:
    """Write the files into the folder of a web server, and yield their paths. Raises OSError."""
    for file in files:
        path = folder / file.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, file.body)
        yield path
    headers = HEADERS if _is_ours(folder / HEADERS) else OWN_HEADERS
    for name, content in ((headers, headers_file(files)), (NGINX, nginx_file(files))):
        replace(folder / name, content.encode("ascii"))
        yield folder / name


def _is_ours(path: Path) -> bool:
    """Return True if there is no such file, or one of ours."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").startswith(_MARK)
    except FileNotFoundError:
        return True


def headers_file(files: list[PublishedFile]) -> str:
    """Return the headers in the form that several hosts of static sites read: a path, and indented lines."""
    lines = [_MARK]
    for file in files:
        lines += [file.path, *(f"  {name}: {value}" for name, value in file.headers.items())]
    return "\n".join(lines) + "\n"


def nginx_file(files: list[PublishedFile]) -> str:
    """Return the headers as locations of nginx, to be included into a server.

    The directory is signed as it is: its digest would not be that of a compressed body.
    """
    lines = [_MARK]
    for file in files:
        headers = dict(file.headers)
        lines += [f"location = {file.path} {{", "    gzip off;", "    types { }"]
        lines.append(f"    default_type {headers.pop('Content-Type')};")
        lines += [f"    add_header {name} '{value}';" for name, value in headers.items()]
        lines.append("}")
    return "\n".join(lines) + "\n"
