"""Decides who may do what at the dashboard: names of hosts, origins, tokens, sessions and rates.

Everything here is a function of a request's headers and the time; nothing does input or output but ``TokenFile``.

* A browser is called to the dashboard by any web page that the operator has open. So the Host header must be an
  address or an allowed name (DNS rebinding), requests of other origins are refused, and a change takes a content type
  that a form cannot send.
* Reading and changing need a token: as ``Authorization: Bearer`` by scripts, or once at login by browsers, which then
  have a session: a cookie that scripts cannot read, and a second value that other origins cannot read.
* The owner's token does everything; those of operators by name do so too, or only read (``operators.py``).
* A session is signed with the token, so it is not stored: it ends with its time, or when the token is replaced.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SESSION_SECONDS = 12 * 3600.0
"""Time after which a browser has to log in again."""
CSRF_HEADER = "X-CSRF-Token"
TOKEN_BYTES = 32
_TOKEN_MAX = 1024


class Right(IntEnum):
    """The rights that a request may have; each includes those before it."""

    NONE = 0
    READ = 1
    WRITE = 2


class Denial(Exception):  # noqa: N818 - an answer
    """A request that is not carried out."""

    def __init__(
        self,
        status: int,
        sentence: str,
        retry_after: float | None = None,
        allowed: object = None,
        problems: Sequence[str] = (),
    ) -> None:
        """``sentence``: the reason. ``retry_after``: seconds after which it may be tried again. ``allowed``: the
        values that are. ``problems``: all that is wrong, if it may be several things."""
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after = retry_after
        self.allowed = allowed
        self.problems = problems


# -- tokens ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operator:
    """Somebody with a token. ``name``: empty for the owner of the dashboard."""

    name: str
    right: Right
    token: str


class TokenFile:
    """The file with the token, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def token(self) -> str:
        """Return the token; create the file if there is none. Processes that do so at the same time agree.

        :raises OSError: it cannot be read or created
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                token = self._read()
            except FileNotFoundError:
                self._create()
                continue
            if token:
                return token
            # A full disk left it empty.
            self.path.unlink(missing_ok=True)

    def _read(self) -> str:
        handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(handle, encoding="ascii", errors="replace") as file:
            if os.fstat(handle).st_mode & 0o077:
                os.fchmod(handle, 0o600)
            return file.read(_TOKEN_MAX).strip()

    def _create(self) -> None:
        unfinished = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}.part")
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{secrets.token_urlsafe(TOKEN_BYTES)}\n")
            # Unlike a replacement, a link leaves the file that another process made meanwhile.
            with suppress(FileExistsError):
                os.link(unfinished, self.path)
        finally:
            unfinished.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that has logged in."""

    nonce: str
    expires_at: float
    csrf: str


class Sessions:
    """Makes and checks sessions: ``EXPIRY.NONCE.NAME.MAC``, signed with the token of their operator."""

    def __init__(self, token: str) -> None:
        """``token``: the owner's."""
        # Cookies of one host are common to all its ports, so each dashboard has a name of its own.
        self.cookie = f"webcrawl_{_mac(token, 'cookie')[:12]}"

    def begin(self, operator: Operator, now: float) -> tuple[str, Session]:
        """Return the value of the cookie of a new session, and the session."""
        expires_at, nonce = int(now + SESSION_SECONDS), secrets.token_hex(16)
        value = f"{expires_at}.{nonce}.{operator.name}"
        mac = _mac(operator.token, f"session {value}")
        return f"{value}.{mac}", _session(operator, nonce, expires_at)

    def check(
        self, cookie: str | None, operators: Sequence[Operator], now: float
    ) -> tuple[Operator, Session] | None:
        """Return the operator and the session of a cookie; None if it is none of ours, or over."""
        value, _, mac = (cookie or "").rpartition(".")
        for operator in operators:
            right_mac = _mac(operator.token, f"session {value}")
            if hmac.compare_digest(mac.encode("utf-8", "replace"), right_mac.encode("ascii")):
                expires_text, nonce, name = value.split(".")
                if name != operator.name or now >= int(expires_text):
                    return None
                return operator, _session(operator, nonce, int(expires_text))
        return None


def _session(operator: Operator, nonce: str, expires_at: int) -> Session:
    return Session(nonce, expires_at, _mac(operator.token, f"csrf {nonce}"))


def _mac(token: str, text: str) -> str:
    key = hashlib.sha256(b"webcrawl dashboard session\0" + token.encode()).digest()
    return hmac.new(key, text.encode("utf-8", "replace"), "sha256").hexdigest()


# -- rates -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rate:
    """``burst`` at once, and from then on ``per_second``."""

    per_second: float
    burst: int


class RateLimiter:
    """Token buckets by name, of which a bounded number is remembered: the one used least recently is forgotten."""

    def __init__(self, rate: Rate, names_max: int = 10_000) -> None:
        self._rate = rate
        self._names_max = names_max
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, now: float) -> float:
        """Take one; return 0, or the seconds to wait if none is left."""
        rate = self._rate
        left, at = self._buckets.pop(name, (float(rate.burst), now))
        left = min(left + max(now - at, 0.0) * rate.per_second, float(rate.burst))
        is_granted = left >= 1.0
        self._buckets[name] = (left - 1.0 if is_granted else left, now)
        if len(self._buckets) > self._names_max:
            self._buckets.popitem(last=False)
        return 0.0 if is_granted else (1.0 - left) / rate.per_second


def client_name(address: str | None) -> str:
    """Return the name under which a client's rate is counted: its IPv4 address, or its IPv6 network of 64 bits."""
    try:
        ip = ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return f"{IPv6Address(int(ip) >> 64 << 64)}/64"
    return str(ip)


# -- requests --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """The facts of a request that decide on its rights."""

    method: str
    headers: Mapping[str, str]
    """Case-insensitive."""
    cookies: Mapping[str, str]
    client: str | None
    """The address of its other end."""
    target: str = "/"
    """The request target, as it was sent."""

    @property
    def has_body(self) -> bool:
        return self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers

    @property
    def is_change(self) -> bool:
        return self.method not in ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Granted:
    """The right of a request, and by what."""

    right: Right
    session: Session | None = None
    by_token: bool = False
    name: str = ""
    """The name of the operator; empty for the owner, and for those without a token."""


WRONG_TOKENS = Rate(0.2, 10)
"""Wrong tokens of one client that are answered as such; further ones wait."""
WRONG_TOKENS_LOGGED = Rate(0.1, 5)
"""Wrong tokens of all clients that are logged."""


@dataclass(slots=True)
class Access:
    """Decides on requests. Its methods raise ``Denial``."""

    bound_to: str
    """The address on which the dashboard listens."""
    token: str | None
    """The owner's. None: nobody may change anything, for public mode."""
    allowed_hosts: Sequence[str] = ()
    public: bool = False
    is_open: bool = False
    """True if everybody who reaches the dashboard may read it."""
    operators: Callable[[], Sequence[Operator]] = tuple
    """Returns the operators by name."""
    sessions: Sessions = field(init=False)
    _wrong: RateLimiter = field(default_factory=lambda: RateLimiter(WRONG_TOKENS))

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.token or secrets.token_urlsafe(TOKEN_BYTES))

    def check_host(self, asked: Asked) -> None:
        """Refuse names that the dashboard does not have: a page could have its own name resolved to our address."""
        if authority := authority_in(asked.target):
            # RFC 9112, section 3.2.2: it is what counts, not the Host header.
            host = host_in(authority)
            if host is None or host != host_in(asked.headers.get("Host", "")):
                raise Denial(421, f"the request is for {printable_header(authority)}, which is not its Host")
        host = host_in(asked.headers.get("Host", ""))
        if host is None or not (self._is_own(host) or host in self.allowed_hosts):
            raise Denial(
                421,
                f"the dashboard is not called {printable_header(asked.headers.get('Host', ''))}; "
                "DASHBOARD_ALLOWED_HOSTS lists further names",
            )

    def check_origin(self, asked: Asked, *, is_page: bool) -> None:
        """Refuse requests that a page of another origin makes. ``is_page``: other sites may link to it."""
        origin, site = asked.headers.get("Origin"), asked.headers.get("Sec-Fetch-Site")
        is_link = (
            is_page
            and asked.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
            and asked.headers.get("Sec-Fetch-Dest", "document") == "document"
        )
        if origin is not None and not is_same_origin(origin, asked.headers.get("Host", "")):
            raise Denial(403, f"requests from pages of {printable_header(origin)} are refused")
        if site not in (None, "same-origin", "none") and not is_link:
            raise Denial(403, "requests from pages of other sites are refused")

    def granted(self, asked: Asked, now: float) -> Granted:
        """Return the right of a request."""
        if self.public or self.token is None:
            return Granted(Right.NONE)
        if (header := asked.headers.get("Authorization")) is not None:
            scheme, _, token = header.partition(" ")
            if scheme.lower() != "bearer":
                raise Denial(401, "Authorization must be: Bearer TOKEN")
            operator = self.authenticate(token.strip(), asked, now)
            return Granted(operator.right, by_token=True, name=operator.name)
        known = self.sessions.check(asked.cookies.get(self.sessions.cookie), self._operators(), now)
        if known is not None:
            operator, session = known
            return Granted(operator.right, session, name=operator.name)
        return Granted(Right.READ if self.is_open else Right.NONE)

    def authenticate(self, token: str, asked: Asked, now: float) -> Operator:
        """Return whose token it is. :raises Denial: nobody's. The right one always passes: others must not be able to
        lock its owner out, and nobody guesses 256 bits."""
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        matches = [
            operator
            for operator in self._operators()
            if hmac.compare_digest(digest, hashlib.sha256(operator.token.encode()).digest())
        ]
        if matches:
            return matches[0]
        if wait := self._wrong.take(client_name(asked.client), now):
            raise Denial(429, "too many wrong tokens", wait)
        raise Denial(401, "the token is wrong; the dashboard shows the name of its file at its start")

    def _operators(self) -> list[Operator]:
        if self.token is None:
            return []
        return [Operator("", Right.WRITE, self.token), *self.operators()]

    def check_change(self, asked: Asked, granted: Granted) -> None:
        """Refuse a change that nobody may make, or that a browser may have been made to send."""
        check_json(asked, has_token=granted.by_token)
        if granted.right < Right.WRITE and granted.name:
            raise Denial(403, f"the token of {granted.name} only reads")
        if granted.right < Right.WRITE:
            raise Denial(401, "changes need the token: log in, or send Authorization: Bearer TOKEN")
        if granted.session is None:
            return
        if asked.headers.get("Origin") is None and asked.headers.get("Sec-Fetch-Site") != "same-origin":
            raise Denial(403, "a change with a session needs the header Origin")
        csrf = asked.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(csrf.encode("utf-8", "replace"), granted.session.csrf.encode()):
            raise Denial(403, f"a change with a session needs the header {CSRF_HEADER} with its value")

    def _is_own(self, host: str) -> bool:
        """Return True for names that nobody else can have resolved to this machine: addresses, and localhost."""
        is_local = is_loopback(self.bound_to)
        if host == "localhost":
            return is_local or is_wildcard(self.bound_to)
        try:
            ip = ip_address(host)
        except ValueError:
            return False
        return ip.is_loopback if is_local else is_wildcard(self.bound_to) or host == self.bound_to


def check_json(asked: Asked, *, has_token: bool = False) -> None:
    """Refuse content types that a form of any page can send. Forms cannot send DELETE, which needs no body, and no
    token, with which a request without a body needs no type."""
    if asked.method == "DELETE" and "Content-Type" not in asked.headers:
        return
    if has_token and "Content-Type" not in asked.headers and not asked.has_body:
        return
    kind = asked.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Denial(415, "the content type must be application/json")


def authority_in(target: str) -> str:
    """Return the authority of a request target in absolute form or authority form; empty if it has none."""
    if target.startswith("/") or target == "*":
        return ""
    return target.partition("://")[2].partition("/")[0].partition("?")[0] or target


def host_in(header: str) -> str | None:
    """Return the name in a Host header, without port and brackets, in lower case; None if there is none."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None or not parts.hostname:
        return None
    return parts.hostname.removesuffix(".")


def is_same_origin(origin: str, host: str) -> bool:
    """Return True if an Origin header names the host and port of the Host header. The scheme is http, or https of a
    proxy."""
    scheme, separator, netloc = origin.partition("://")
    if scheme not in ("http", "https") or not separator:
        return False
    default = {"http": ":80", "https": ":443"}[scheme]
    return netloc.lower().removesuffix(default) == host.lower().removesuffix(default)


def is_loopback(host: str) -> bool:
    """Return True for an address or a name of this machine that no other machine reaches."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Return True for the address that stands for all addresses of this machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def printable_header(header: str) -> str:
    """Return a header's value for a sentence: short, and printable."""
    return ascii(header[:100])
