"""Which model a run starts with when nobody named one: keys found, then a server on this machine, then the demo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from swecli.config.settings import Settings
from swecli.llm.endpoints import DEMO, KEYED, LOCAL, Service, base_of
from swecli.llm.probe import listed
from swecli.models.errors import ConfigError
from swecli.models.message import Choice

_PROVIDERS = Path(__file__).parent / "providers"
_LAYERS = {"flags": "set by -m", "environment": "SWECLI_MODEL is set"}
_MOST = 20  # models of one server


def live_models(environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The models that servers on this machine list, each asked at its usual port or at the one its variable names: the
    model's name and that port."""
    for service in LOCAL:
        port = _loopback_port(service, environ)
        for model in listed(service.name, ("127.0.0.1", port))[:_MOST] if port else ():
            yield f"{service.name}/{model}", port


def choose_model(settings: Settings, environ: Mapping[str, str]) -> Choice:
    """The model to start with: the setting, a key in the environment, a local server, or the demo."""
    if settings.model:
        layer = settings.origins.get("model", "the settings")
        return Choice(settings.model, _LAYERS.get(layer, f"set in {layer}"))
    services = [*KEYED]
    # to load the providers of the tree would hold up the first prompt: `acme.py` counts where ACME_API_KEY is set
    if any(environ.get(f"{file.stem.upper()}_API_KEY", "").strip() for file in _PROVIDERS.glob("*.py")):
        # late: not before somebody's key asks for it
        from swecli.llm.registry import in_tree  # noqa: PLC0415

        services += [own.service for own in in_tree()]
    ready = [(key, one) for one in services for key in one.keys if environ.get(key, "").strip()]
    for key, service in ready:
        if service.default_model:
            return Choice(service.default_model, f"{key} is set")
    for name, port in live_models(environ):
        return Choice(name, f"a local server answers on port {port}")
    for key, service in ready:
        why = f"{key} is set, and which of its models to use is not: name one with -m {service.name}/NAME"
        return Choice(DEMO, why)
    return Choice(DEMO, "no key and no local server was found")


def _loopback_port(service: Service, environ: Mapping[str, str]) -> int:
    """0 where the variable points to another machine: that is asked only where the user names it."""
    try:
        parts = urlsplit(base_of(service, environ) or "")
        return parts.port or service.port if parts.hostname in ("127.0.0.1", "localhost") else 0
    except (ValueError, ConfigError):
        return 0
