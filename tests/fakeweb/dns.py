"""A name server on loopback (RFC 1035), for names other than *.localhost and for names that fail."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

_A, _SOA, _PTR, _ANY = 1, 6, 12, 255
_NO_ERROR, _SERVER_FAILURE, _NO_SUCH_NAME = 0, 2, 3
_ANSWER_FLAGS = 0x8580
"""A response, authoritative, recursion available, whatever was desired."""
_PORT_TRIES = 20


@dataclass(frozen=True, slots=True)
class Zone:
    """What the name server knows. The longest name given for a question, or for a parent of it, decides."""

    suffixes: Sequence[str]
    """Every name that is one of these or below one of them exists..."""
    dead: Sequence[str] = ()
    """... except these and all below them: NXDOMAIN."""
    failing: Sequence[str] = ()
    """SERVFAIL for these and all below them."""
    address: str = "127.0.0.1"
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Addresses of single names, where they are not ``address``."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of addresses (reverse DNS)."""
    ttl_seconds: int = 300
    silent: bool = False
    """Questions are taken and never answered."""

    def name_of(self, question: str) -> str | None:
        """Return the name of the address that a question of reverse DNS asks about."""
        address = ".".join(reversed(question.removesuffix(".in-addr.arpa").split(".")))
        return self.names.get(address) if question.endswith(".in-addr.arpa") else None

    def resolve(self, name: str) -> tuple[int, Sequence[str]]:
        """Return the response code and the addresses of a name."""
        if _below(name, self.failing):
            return _SERVER_FAILURE, ()
        if _below(name, self.dead):
            return _NO_SUCH_NAME, ()
        if name in self.addresses:
            return _NO_ERROR, self.addresses[name]
        if _below(name, self.suffixes):
            return _NO_ERROR, (self.address,)
        return _NO_SUCH_NAME, ()


def _below(name: str, tops: Sequence[str]) -> bool:
    return any(name == top or name.endswith("." + top) for top in tops)


def reply(zone: Zone, query: bytes) -> tuple[str, bytes] | None:
    """Return the name asked for and the response to a query; None for what is no query."""
    try:
        number, flags, questions = struct.unpack_from(">HHH", query)
        name, end = _read_name(query, 12)
        kind, _ = struct.unpack_from(">HH", query, end)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    if flags & 0x8000 or questions != 1:
        return None
    code, addresses = zone.resolve(name)
    answers = [socket.inet_aton(address) for address in addresses] if kind in (_A, _ANY) else []
    if kind == _PTR and (found := zone.name_of(name)) is not None:
        code, answers = _NO_ERROR, [_wire_name(found)]
    authority = b"" if answers or code == _SERVER_FAILURE else _soa(zone)
    header = struct.pack(
        ">HHHHHH", number, _ANSWER_FLAGS | flags & 0x0100 | code, 1, len(answers), int(bool(authority)), 0
    )
    records = b"".join(
        struct.pack(">HHHIH", 0xC00C, _PTR if kind == _PTR else _A, 1, zone.ttl_seconds, len(answer)) + answer
        for answer in answers
    )
    return name, header + query[12 : end + 4] + records + authority


def _wire_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.split(".")) + b"\0"


def _soa(zone: Zone) -> bytes:
    """Return the record whose last number says how long a negative answer may be kept (RFC 2308)."""
    data = b"\0\0" + struct.pack(">IIIII", 1, 3600, 600, 86400, zone.ttl_seconds)
    return b"\0" + struct.pack(">HHIH", _SOA, 1, zone.ttl_seconds, len(data)) + data


def _read_name(packet: bytes, at: int) -> tuple[str, int]:
    labels = []
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1


class NameServer:
    """Answers on UDP and TCP at 127.0.0.1 while the ``async with`` block runs, at ``port``."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.port = 0
        self.asked: list[str] = []
        """The names asked for, in order, once for every question that arrived."""
        self._datagrams: asyncio.DatagramTransport | None = None
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        udp, tcp = _pair_of_sockets()
        self.port = int(udp.getsockname()[1])
        self._datagrams, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=udp)
        self._server = await asyncio.start_server(self._serve_stream, sock=tcp)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._datagrams is not None:
            self._datagrams.close()
        if self._server is not None:
            self._server.close()
            for writer in list(self._writers):
                writer.close()
            await self._server.wait_closed()
        await asyncio.sleep(0)

    def respond(self, query: bytes) -> bytes | None:
        """Return the response to a query; None where none is to be sent."""
        answered = reply(self.zone, query)
        if answered is None:
            return None
        self.asked.append(answered[0])
        return None if self.zone.silent else answered[1]

    async def _serve_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (length,) = struct.unpack(">H", await reader.readexactly(2))
                response = self.respond(await reader.readexactly(length))
                if response is not None:
                    writer.write(struct.pack(">H", len(response)) + response)
        self._writers.discard(writer)
        writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        response = self._server.respond(data)
        if response is not None and self._transport is not None:
            self._transport.sendto(response, address)


def _pair_of_sockets() -> tuple[socket.socket, socket.socket]:
    """Return a UDP and a TCP socket bound to the same port, which takes a few tries when ports are scarce."""
    for _ in range(_PORT_TRIES):
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(tcp.getsockname())
        except OSError:
            tcp.close()
            udp.close()
            continue
        udp.setblocking(False)
        return udp, tcp
    raise OSError("no port is free for both UDP and TCP")
