"""The addresses of the crawler as a JSON file for machines (JAFAR).

Follows draft-illyes-aipref-jafar (the text of 30 September 2025), version 1.0 of the format.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT_VERSION = "1.0"
FILE_NAME = "client-ranges.json"
RELATION = "client-ranges"
"""The relation of a link to the file (draft-illyes-webbotauth-cbcp)."""


def address_ranges(addresses: Iterable[str], service: str, created_at: float) -> bytes:
    """Return the file for these addresses and networks; ``service`` is the name of the crawler, if it has one."""
    prefixes: list[dict[str, str]] = []
    for address in addresses:
        network = ip_network(address)
        prefix = {f"ipv{network.version}Prefix": str(network)}
        prefixes.append(prefix | {"service": service} if service else prefix)
    # The token changes with the prefixes alone, not each time that the file is written.
    token = hashlib.sha256(json.dumps(prefixes).encode("ascii")).hexdigest()[:16]
    content: dict[str, Any] = {
        "formatVersion": FORMAT_VERSION,
        "synctoken": token,
        "creationTime": datetime.fromtimestamp(int(created_at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "prefixes": prefixes,
    }
    return json.dumps(content, indent=2).encode("ascii") + b"\n"


def read_ranges(body: bytes) -> list[str]:
    """Return the networks of such a file. Raises ValueError."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None
    prefixes = content.get("prefixes") if isinstance(content, dict) else None
    if not isinstance(prefixes, list):
        raise ValueError("has no list of prefixes")
    if str(content.get("formatVersion", "")).partition(".")[0] != "1":
        raise ValueError("is of another version than 1")
    networks = []
    for prefix in prefixes:
        found = [prefix[name] for name in ("ipv4Prefix", "ipv6Prefix") if name in prefix]
        if len(found) == 1:
            networks.append(str(ip_network(found[0])))
    return networks
