"""Create a model from its name: built-in and installed providers, native wires, litellm as the fallback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from swecli.config.model_entry import ModelEntry
from swecli.config.settings import Settings
from swecli.discovery import find_declared, index_by_name, installed_entry_points
from swecli.llm import providers
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import DEMO, KEYED, LOCAL, LOOPBACK, SERVICES, Endpoint, Service, resolve
from swecli.llm.learned_facts import LearnedFacts
from swecli.llm.price_table import (
    Row,
    chat_models,
    did_you_mean,
    find_row,
    guess_row,
    model_table,
    provider_names,
)
from swecli.llm.profile import Profile
from swecli.models.errors import AuthFailed, ConfigError, ModelNotFound, NoModel, SwecliError
from swecli.models.message import ModelChoice
from swecli.similar_names import similar_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_LAYERS = {"flags": "set by -m", "environment": "SWECLI_MODEL is set"}
_APIS = {
    "openai": "openai",
    "responses": "openai",
    "anthropic": "anthropic",
}  # and the provider whose names they take
_RESPONSES_NAME = "openai/responses/"  # as litellm names that wire
_PROVIDERS = "swecli.providers"  # entry points
_MAX_SIMILAR = 3
_MAX_LISTED = 20  # models of one server


def make_model(
    name: str, settings: Settings, environ: Mapping[str, str], *, keyless: bool = False
) -> ChatModel:
    """Create the model `provider/name`, or the default model of `provider`, without sending a request. With `keyless` a
    service's key may be missing: the model is only used to measure requests. Raises ModelNotFound with similar names,
    AuthFailed naming the unset key variable, or BadInput."""
    name = name.strip()
    head, slash, _ = name.partition("/")
    found = None if settings.entry(name) else _find_provider(head)
    if found is None or found.make is None:
        return _make_service_model(name, settings, environ, keyless=keyless)
    if found.keys and not any(environ.get(key, "").strip() for key in found.keys):
        raise found.missing_key(name, found.keys[0])
    model: ChatModel = found.make(name if slash else found.default_model or name, settings, environ)
    return model


def try_make_model(
    name: str, settings: Settings, environ: Mapping[str, str]
) -> tuple[ChatModel | None, str]:
    """Create an optional model. Returns None and the reason if it cannot be created."""
    try:
        return make_model(name, settings, environ), ""
    except SwecliError as error:
        return None, str(error)


def _find_provider(name: str) -> Service | None:
    """Return the known, built-in or installed service of this name, None for another one of litellm. Raises
    ModelNotFound for an installed one that cannot be loaded."""
    # the known ones first: they are on the path of the first request
    if found := SERVICES.get(name) or next(
        (own for own in _built_in_providers() if name == own.name), None
    ):
        return found
    for entry in installed_entry_points(_PROVIDERS).select(name=name):
        return _load_entry_point(entry)
    if name == DEMO:
        raise ModelNotFound(
            "The demo model is not installed with this copy of swecli.",
            "Run scripts/setup, or install it with pip.",
        )
    return None


@cache
def _built_in_providers() -> tuple[Service, ...]:
    """Return the providers that modules of `swecli/llm/providers` declare. Raises NameClash."""
    return tuple(
        index_by_name([(own.name, own) for own in find_declared(providers, Service)]).values()
    )


def _load_entry_point(entry: EntryPoint) -> Service:
    """Load the provider of an entry point. Raises ModelNotFound if that fails."""
    try:
        value = entry.load()
        if not isinstance(value, Service):
            raise TypeError(f"{entry.value} is a {type(value).__name__} and declares no provider")
    except Exception as error:  # third-party code: any error becomes one line for the user
        raise ModelNotFound(
            f"The provider {entry.name!r} cannot be loaded: {type(error).__name__}: {error}.",
            f"Update or remove the package that brings {entry.module}.",
        ) from error
    return value


def _make_service_model(
    name: str, settings: Settings, environ: Mapping[str, str], *, keyless: bool
) -> ChatModel:
    """Create a service's model. A name without provider (`gpt-4.1`) is looked up in the table. Raises like
    `make_model`."""
    entry = settings.entry(name)
    called, name = name, name if entry is None else entry.model or entry.name
    if entry and entry.api in _APIS:
        name = f"{_APIS[entry.api]}/{name}"
    wire = ""
    if name.startswith(_RESPONSES_NAME):
        name, wire = f"openai/{name.removeprefix(_RESPONSES_NAME)}", "responses"
    head, slash, _ = name.partition("/")
    if not slash:
        if name in SERVICES:
            model = SERVICES[name].default_model or f"{name}/NAME"
            raise ModelNotFound(
                f"{name} is a provider.",
                f"Name one of its models: {model}. See swecli models {name}.",
            )
        owner = (find_row("", name) or {}).get("litellm_provider")
        if not owner:
            raise ModelNotFound(f"There is no model {name!r}.", _hint_for_unknown(name, entry))
        name, head = f"{owner}/{name}", owner
    if head not in SERVICES:
        known = provider_names()
        if known and head not in known:
            near = did_you_mean(head, sorted(known | set(SERVICES)))
            raise ModelNotFound(
                f"There is no provider {head!r}.", near or "Write the model as provider/name."
            )
    endpoint = replace(
        resolve(name, environ, entry, keyless=keyless), name=called if entry or wire else name
    )
    if wire and endpoint.api == "openai":
        endpoint = replace(endpoint, api="responses")
    facts = LearnedFacts.find(environ)
    row, layer, like = _known_row(endpoint, environ, may_ask=not keyless)
    return model_at(endpoint, row, facts, entry, layer, like)


def _hint_for_unknown(name: str, entry: ModelEntry | None) -> str:
    """Return what helps with a name without a provider that no table knows."""
    models = model_table()
    known: dict[str, str] = {}  # the whole name by the one without a provider
    for service in (*LOCAL, *KEYED):
        for model in chat_models(models, service.name):
            known.setdefault(model.partition("/")[2], model)
    near = [known[similar] for similar in similar_names(name, known, _MAX_SIMILAR)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    if entry:
        return f'Set api = "openai" or "anthropic" in [models.{entry}], or use demo.'
    if name and any(name in model for model in known):
        return f"It is a part of several names: see swecli models {name}."
    return "Write it as provider/name, or use demo."


def _known_row(
    endpoint: Endpoint, environ: Mapping[str, str], *, may_ask: bool
) -> tuple[Row | None, str, str]:
    """Return what is known about a model, the layer of the record that this is, and the name of another model if the
    row is that one's, which this one probably resembles; "" if it is its own."""
    if endpoint.is_openrouter:
        # late: 30 ms, only for this service
        from swecli.llm.openrouter_list import find_listed

        listed = find_listed(endpoint.model, endpoint.address, environ, ask=may_ask)
        if listed is not None:
            return listed, "OpenRouter's list", ""
    row = find_row(endpoint.provider, endpoint.model)
    if row is None and not endpoint.local:
        resembled = guess_row(endpoint.provider, endpoint.model)
        if resembled is not None:
            like, row = resembled
            return row, "table", like
    return row, "table", ""


def model_at(
    endpoint: Endpoint,
    row: Row | None,
    facts: LearnedFacts | None = None,
    entry: ModelEntry | None = None,
    layer: str = "table",
    like: str = "",
) -> ChatModel:
    """Create the model for an endpoint and its row of the table, of the service's list (as `layer` says) or of the
    similar model `like`."""
    profile = Profile.build(endpoint, row, endpoint.probe(), facts, entry, layer=layer, like=like)
    is_foreign = (row or {}).get("mode") == "responses" and not (entry and entry.api)
    is_foreign = is_foreign and profile.wire != "responses"
    if is_foreign:
        # late: only the wire in use is imported
        from swecli.llm.providers.litellm import LiteLLMResponses

        return LiteLLMResponses(endpoint, profile, facts)
    if endpoint.api == "litellm" and endpoint.provider != "azure":
        # late: as above
        from swecli.llm.providers.litellm import LiteLLMModel

        return LiteLLMModel(endpoint, profile, facts)
    if endpoint.api == "anthropic":
        # late: as above
        from swecli.llm.providers.anthropic import Anthropic

        return Anthropic(endpoint, profile, facts)
    # late: as above
    from swecli.llm.providers.openai_wires import OpenAIModel

    return OpenAIModel(endpoint, profile, facts)


def list_services() -> Iterator[tuple[str, Service | ModelNotFound]]:
    """Yield the name of each service that models can be used of, and the service, or why it cannot be loaded."""
    built_in = [own for own in _built_in_providers() if own.keys or own.default_model]
    yield from ((service.name, service) for service in (*KEYED, *LOCAL, *built_in))
    for entry in installed_entry_points(_PROVIDERS):
        try:
            yield entry.name, _load_entry_point(entry)
        except ModelNotFound as error:
            yield entry.name, error


def live_models(environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the name and port of each model that local servers list, at their usual or configured ports."""
    for service in LOCAL:
        with suppress(
            AuthFailed, ConfigError
        ):  # a bad variable is reported when its server is used
            at = resolve(f"{service.name}/*", environ)
            place = urlsplit(at.address)
            for model in at.list_models()[:_MAX_LISTED] if place.hostname in LOOPBACK else ():
                yield f"{service.name}/{model}", place.port or 0


def choose_model(
    settings: Settings, environ: Mapping[str, str], *, or_demo: bool = False
) -> ModelChoice:
    """Choose the model to start with: the setting, a key in the environment, or a local server. Without any, it is the
    demo for a person who is there to see that (`or_demo`). Raises NoModel for a script, which would take the demo's
    answers for a model's."""
    if settings.model:
        layer = settings.origins.get("model", "the settings")
        return ModelChoice(settings.model, _LAYERS.get(layer, f"set in {layer}"))
    services = [*KEYED]
    # importing all providers would delay the first prompt: `acme.py` is only loaded if ACME_API_KEY is set
    files = Path(providers.__path__[0]).glob("*.py")
    if any(environ.get(f"{file.stem.upper()}_API_KEY", "").strip() for file in files):
        services += _built_in_providers()
    ready = [(key, one) for one in services for key in one.keys if environ.get(key, "").strip()]
    for key, service in ready:
        if service.default_model:
            return ModelChoice(service.default_model, f"{key} is set")
    for name, port in live_models(environ):
        return ModelChoice(name, f"a local server answers on port {port}")
    why = "no key and no local server was found"
    hint = f"Set a key, start a local server, or name a model with -m; -m {DEMO} needs neither."
    unused = [(key, service.name) for key, service in ready] or _other_keys(environ)
    if unused:
        key, provider = unused[0]
        why = f"{key} is set, but no model is chosen: name one with -m {provider}/NAME"
        hint = ""
    if or_demo:
        return ModelChoice(DEMO, why)
    raise NoModel(f"There is no model to ask: {why}.", hint)


def _other_keys(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names of the keys that are set for other providers of litellm's, each with the provider."""
    keys = [name for name in environ if name.endswith("_API_KEY") and environ[name].strip()]
    if not keys:
        return []  # the names of the providers take a while
    providers = {f"{name.upper()}_API_KEY": name for name in provider_names()}
    return [(key, providers[key]) for key in sorted(keys) if key in providers]
