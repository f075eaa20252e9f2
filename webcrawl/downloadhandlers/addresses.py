"""The setting FETCH_PRIVATE_ADDRESSES, as the rule that is asked before a socket is connected.

The rule sees the address itself, so neither a name that resolves to a private one, nor a second answer of its
name server (DNS rebinding), nor a URL with an address in it gets through.
"""

from __future__ import annotations

from ipaddress import ip_address

from webcrawl.scope.private import PrivateAddressRule

SETTING = "FETCH_PRIVATE_ADDRESSES"

_EVERYTHING = ("0.0.0.0/0", "::/0")
_YES = frozenset(("true", "1", "yes"))
_NO = frozenset(("false", "0", "no", "none", ""))


def address_rule(value: object) -> PrivateAddressRule:
    """Read the setting: True, False, or the networks and hosts that are allowed, as a list or with commas
    between.

    Raises ValueError that names the setting and the value.
    """
    if value is None or isinstance(value, (bool, int)):
        return PrivateAddressRule(_EVERYTHING if value else ())
    if isinstance(value, str):
        if value.strip().lower() in _YES | _NO:
            return PrivateAddressRule(_EVERYTHING if value.strip().lower() in _YES else ())
        value = [part for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError(f"{SETTING}: {value!r} is neither true, false nor a list of networks")
    try:
        return PrivateAddressRule(str(part) for part in value)
    except ValueError as error:
        raise ValueError(
            f"{SETTING}: {error}; allowed are true, false, networks (10.0.0.0/8), hosts"
        ) from error


def literal_address(host: str) -> str | None:
    """The address that a URL's host is itself; None for a name."""
    try:
        return str(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        return None
