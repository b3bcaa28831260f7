"""Addresses of the web: their form, and which of them lead to this machine or its network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlsplit

from swecli.tools.base import ToolError
from swecli.tools.limits import one_line

# if 1, addresses of this machine and its network are allowed
ALLOW_PRIVATE = "SWECLI_FETCH_PRIVATE"

# IPv6 addresses whose last 32 bits are the IPv4 address that is reached: NAT64 (RFC 6052), IPv4-compatible (RFC 4291),
# IPv4-translated (RFC 2765)
_TRANSLATED = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
_LOCAL_TRANSLATION = ipaddress.IPv6Network("64:ff9b:1::/48")  # of the own network (RFC 8215)


def normalize_url(url: str) -> tuple[str, str]:
    """Return the URL with all characters encoded, and its host. Raises ToolError."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        port = parts.port
    except (UnicodeError, ValueError) as error:
        raise ToolError(f"{one_line(url, 200)!r} is not an address: {error}.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise ToolError(
            f"{one_line(url, 200)!r} is not a web address: those begin with http:// or https://."
        )
    if parts.username is not None:
        raise ToolError("The address contains a user name or a password. Leave them out.")
    authority = f"[{host}]" if ":" in host else host
    if port:
        authority += f":{port}"
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    query = f"?{quote(parts.query, safe='/%:@!$&()*+,;=?~')}" if parts.query else ""
    return f"{parts.scheme}://{authority}{path}{query}", host


def check_host(host: str, environ: Mapping[str, str]) -> None:
    """Raise ToolError for a host that is an address of this machine or its network, as far as that shows without asking
    a name server: other names are checked when they are connected to."""
    address = _written_address(host)
    if address:
        check_addresses(host, [address], environ)


def check_addresses(host: str, addresses: Iterable[str], environ: Mapping[str, str]) -> None:
    """Raise ToolError if one of the addresses that a host has is not public, and the user did not allow that."""
    if environ.get(ALLOW_PRIVATE) == "1":
        return
    blocked = find_private(addresses)
    if blocked:
        label = host if host == blocked else f"{host} ({blocked})"
        raise ToolError(
            f"{label} is an address of this machine or its network: not fetched. The user can allow such addresses by "
            f"starting swecli with {ALLOW_PRIVATE}=1."
        )


def _written_address(host: str) -> str:
    """Return the address that a host is, in any way to write it (127.1), or "" for a name."""
    plain = host.rstrip(".").lower()
    if plain == "localhost" or plain.endswith(".localhost"):
        return "127.0.0.1"  # RFC 6761
    try:
        return str(ipaddress.ip_address(plain.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(plain))
    except OSError:
        return ""


def find_private(addresses: Iterable[str]) -> str:
    """Return the first address that is not public, also if an IPv6 address contains it; "" if all are."""
    for address in addresses:
        ip = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(ip, ipaddress.IPv6Address):
            ip = _contained(ip)
        if not ip.is_global or ip.is_multicast or ip in _LOCAL_TRANSLATION:
            return address
    return ""


def _contained(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address to which a network may translate this one, or else the address itself."""
    if any(address in network for network in _TRANSLATED):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
