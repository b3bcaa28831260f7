"""Which model a run starts with when nobody named one: keys found, then a server on this machine, then the demo."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from swecli.config.settings import Settings
from swecli.llm.endpoints import DEMO, KEYED, LOCAL, Service, base_of
from swecli.llm.probe import CONNECT_SECONDS, listed
from swecli.models.errors import ConfigError
from swecli.models.message import Choice

_PROVIDERS = Path(__file__).parent / "providers"


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answers on this machine, and the first model it offers."""

    provider: str
    port: int
    model: str


Probe = Callable[[Sequence[tuple[str, int]]], Found | None]


def find_local(places: Sequence[tuple[str, int]]) -> Found | None:
    """The first of the (provider, port) places where a model's server answers on 127.0.0.1.

    All ports are tried at once, 0.05 s in all; only a server that took the connection is asked for its models.
    """
    for provider, port in _listening(places):
        for model in listed(provider, ("127.0.0.1", port)):
            return Found(provider, port, model)
    return None


def live_models(environ: Mapping[str, str]) -> list[Found]:
    """What the servers on this machine list, at most 20 models of each."""
    return [
        Found(provider, port, model)
        for provider, port in _listening(_places(environ))
        for model in listed(provider, ("127.0.0.1", port))[:20]
    ]


def choose_model(settings: Settings, environ: Mapping[str, str], probe: Probe = find_local) -> Choice:
    """The model to start with: the setting, a key in the environment, a local server, or the demo."""
    if settings.model:
        return Choice(settings.model, _chosen_by(settings.origins.get("model", "the settings")))
    for service in _services(environ):
        key = next((key for key in service.keys if environ.get(key, "").strip()), None)
        if service.default_model and key:
            return Choice(service.default_model, f"{key} is set")
    found = probe(_places(environ))
    if found is not None:
        return Choice(f"{found.provider}/{found.model}", f"a local server answers on port {found.port}")
    idle = [(key, one) for one in KEYED for key in one.keys if not one.default_model and environ.get(key, "").strip()]
    for key, service in idle[:1]:
        return Choice(
            DEMO, f"{key} is set, and which of its models to use is not: name one with -m {service.name}/NAME"
        )
    return Choice(DEMO, "no key and no local server was found")


def _services(environ: Mapping[str, str]) -> Iterator[Service]:
    """litellm's services, then those of providers in the tree that have a file of their own.

    To load them all would hold up the first prompt: a file `acme.py` is looked into where `ACME_API_KEY` is set.
    """
    yield from KEYED
    if any(environ.get(f"{file.stem.upper()}_API_KEY", "").strip() for file in _PROVIDERS.glob("*.py")):
        # late: not before somebody's key asks for it
        from swecli.llm.registry import in_tree  # noqa: PLC0415

        yield from (service for own in in_tree() if not own.listed for service in own.services)


def _chosen_by(layer: str) -> str:
    return {"flags": "set by -m", "environment": "SWECLI_MODEL is set"}.get(layer, f"set in {layer}")


def _places(environ: Mapping[str, str]) -> list[tuple[str, int]]:
    """Where to look: each server's usual port, or the one its variable names, if that is on this machine."""
    places = []
    for service in LOCAL:
        port = _loopback_port(service, environ)
        if port:
            places.append((service.name, port))
    return places


def _loopback_port(service: Service, environ: Mapping[str, str]) -> int:
    """0 where the variable points to another machine: that is asked only where the user names it."""
    try:
        base = base_of(service, environ)
        parts = urlsplit(base or "")
        here = parts.hostname in (None, "127.0.0.1", "localhost")
        return (parts.port or service.port) if here else 0
    except (ValueError, ConfigError):
        return 0


def _listening(places: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those of the places where something takes a connection, in their order."""
    waiting: dict[socket.socket, tuple[str, int]] = {}
    try:
        for place in places:
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            waiting[probe] = place
            probe.setblocking(False)
            probe.connect_ex(("127.0.0.1", place[1]))
        open_ones = set()
        pending = set(waiting)
        while pending:
            _, ready, _ = select.select([], pending, [], CONNECT_SECONDS)
            if not ready:
                break
            pending.difference_update(ready)
            open_ones |= {s for s in ready if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0}
        return [place for probe, place in waiting.items() if probe in open_ones]
    except OSError:
        # no socket to be had: then there is no local server to be had either
        return []
    finally:
        for probe in waiting:
            probe.close()
