"""A name server on loopback with the answers of a test."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    Addresses = Callable[[str], list[str] | None]

TYPES = {1: 4, 28: 6}


class NameServer(asyncio.DatagramProtocol):
    """``addresses`` gives the addresses of a name, None for a name that does not exist."""

    def __init__(self, addresses: Addresses, ttl: int) -> None:
        self.asked: list[str] = []
        self.port = 0
        self._addresses = addresses
        self._ttl = ttl

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.DatagramProtocol."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Answer one question."""
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += data[at] + 1
        question = data[12 : at + 5]
        (kind,) = struct.unpack(">H", data[at + 1 : at + 3])
        name = ".".join(labels).lower()
        self.asked.append(name)
        found = self._addresses(name)
        records = [
            b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, self._ttl, len(packed)) + packed
            for packed in (
                ip_address(ip).packed for ip in found or () if ip_address(ip).version == TYPES.get(kind)
            )
        ]
        flags = 0x8183 if found is None else 0x8180
        head = data[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
        self._transport.sendto(head + question + b"".join(records), addr)  # type: ignore[attr-defined]


@contextlib.asynccontextmanager
async def name_server(addresses: Addresses, ttl: int = 300) -> AsyncIterator[NameServer]:
    """Run one."""
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(addresses, ttl), local_addr=("127.0.0.1", 0)
    )
    server.port = transport.get_extra_info("sockname")[1]
    try:
        yield server
    finally:
        transport.close()
