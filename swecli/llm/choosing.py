"""Choose the model to start with: by a setting, a key in the environment, or a local server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from swecli.config.settings import Settings
from swecli.llm import providers
from swecli.llm.endpoints import LOOPBACK, resolve
from swecli.llm.price_table import provider_names
from swecli.llm.services import DEMO, HOSTED, LOCAL
from swecli.models.errors import AuthFailed, ConfigError, NoModel
from swecli.models.model_choice import ModelChoice
from swecli.text import short_path

_REASON_BY_LAYER = {"flags": "set by -m", "environment": "SWECLI_MODEL is set"}
_MAX_LISTED = 20  # models of one server


def live_models(environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the name and port of each model that local servers list, at their usual or configured ports."""
    for service in LOCAL:
        # a bad variable is reported when its server is used
        with suppress(AuthFailed, ConfigError):
            endpoint = resolve(f"{service.name}/*", environ)
            address = urlsplit(endpoint.address)
            if address.hostname in LOOPBACK:
                for model in endpoint.list_models()[:_MAX_LISTED]:
                    yield f"{service.name}/{model}", address.port or 0


def choose_model(
    settings: Settings, environ: Mapping[str, str], *, or_demo: bool = False
) -> ModelChoice:
    """Choose the model to start with: the setting, a key in the environment, or a local server. Without any, it is the
    demo for a person who is there to see that (`or_demo`). Raises NoModel for a script, which would take the demo's
    answers for a model's."""
    if settings.model:
        layer = settings.origins.get("model", "the settings")
        return ModelChoice(
            settings.model, _REASON_BY_LAYER.get(layer, f"set in {short_path(Path(layer))}")
        )
    services = [*HOSTED]
    # importing all providers would delay the first prompt: `acme.py` is only loaded if ACME_API_KEY is set
    files = Path(providers.__path__[0]).glob("*.py")
    if any(environ.get(f"{file.stem.upper()}_API_KEY", "").strip() for file in files):
        # late: few providers are files of their own
        from swecli.llm.registry import built_in_providers

        services += built_in_providers()
    usable = [
        (variable, service)
        for service in services
        for variable in service.key_variables
        if environ.get(variable, "").strip()
    ]
    for variable, service in usable:
        if service.default_model:
            return ModelChoice(service.default_model, f"{variable} is set")
    for name, port in live_models(environ):
        return ModelChoice(name, f"a local server answers on port {port}")
    reason = "no key and no local server was found"
    hint = f"Set a key, start a local server, or name a model with -m; -m {DEMO} needs neither."
    unused = [(variable, service.name) for variable, service in usable]
    unused = unused or _keys_of_others(environ)
    if unused:
        variable, provider = unused[0]
        reason = f"{variable} is set, but no model is chosen: name one with -m {provider}/NAME"
        hint = ""
    if or_demo:
        return ModelChoice(DEMO, f"{reason}: /connect sets one up" if hint else reason)
    raise NoModel(f"There is no model to ask: {reason}.", hint)


def _keys_of_others(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names of the keys that are set for other providers of litellm's, each with the provider."""
    keys = [name for name in environ if name.endswith("_API_KEY") and environ[name].strip()]
    if not keys:
        return []  # the names of the providers take a while
    providers = {f"{name.upper()}_API_KEY": name for name in provider_names()}
    return [(key, providers[key]) for key in sorted(keys) if key in providers]
