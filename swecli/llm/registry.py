"""Create a model from its name: built-in and installed providers, native wires, litellm as the fallback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from swecli.config.model_entry import ModelEntry
from swecli.config.settings import Settings
from swecli.discovery import find_declared, index_by_name, installed_entry_points
from swecli.llm import providers
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import Endpoint, resolve
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
from swecli.llm.services import (
    DEMO,
    HOSTED,
    LOCAL,
    MODEL_NAMES,
    OTHER_NAMES,
    SERVICES,
    Service,
)
from swecli.models.errors import ModelNotFound, SwecliError
from swecli.similar_names import similar_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# the provider under whose name a [models] entry with this `api` is resolved
_PROVIDER_OF_API = {
    "openai": "openai",
    "responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
_RESPONSES_NAME = "openai/responses/"  # as litellm names that wire
_PROVIDERS = "swecli.providers"  # entry points
_MAX_SIMILAR = 3
# what refusals taught in this session, as fields of the profile, by the model's origin
_learned: dict[str, dict[str, Any]] = {}


def make_model(
    name: str, settings: Settings, environ: Mapping[str, str], *, keyless: bool = False
) -> ChatModel:
    """Create the model `provider/name`, or the default model of `provider`, without sending a request. With `keyless` a
    service's key may be missing: the model is only used to measure requests. Raises ModelNotFound with similar names,
    AuthFailed naming the unset key variable, or BadInput."""
    name = name.strip()
    if not settings.entry(name):
        name = MODEL_NAMES.get(name, name)
    provider_name, slash, _ = name.partition("/")
    service = None if settings.entry(name) else _find_provider(provider_name)
    if service is None or service.make is None:
        return _make_service_model(name, settings, environ, keyless=keyless)
    variables = service.key_variables
    if variables and not any(environ.get(variable, "").strip() for variable in variables):
        raise service.missing_key(name, variables[0])
    if not slash:
        name = service.default_model or name
    model: ChatModel = service.make(name, settings, environ)
    return model


def try_make_model(
    name: str, settings: Settings, environ: Mapping[str, str]
) -> tuple[ChatModel | None, str]:
    """Create an optional model. Returns it and "", or None and the reason if it cannot be created."""
    try:
        return make_model(name, settings, environ), ""
    except SwecliError as error:
        return None, str(error)


def _find_provider(name: str) -> Service | None:
    """Return the known, built-in or installed service of this name, None for another one of litellm. Raises
    ModelNotFound for an installed one that cannot be loaded."""
    # the known ones first: they are on the path of the first request
    if name in SERVICES:
        return SERVICES[name]
    for service in built_in_providers():
        if service.name == name:
            return service
    for entry in installed_entry_points(_PROVIDERS).select(name=name):
        return _load_entry_point(entry)
    if name == DEMO:
        raise ModelNotFound(
            "The demo model is not installed with this copy of swecli.",
            "Run scripts/setup, or install it with pip.",
        )
    return None


@cache
def built_in_providers() -> tuple[Service, ...]:
    """Return the providers that modules of `swecli/llm/providers` declare. Raises NameClash."""
    declared = find_declared(providers, Service)
    return tuple(index_by_name([(service.name, service) for service in declared]).values())


def _load_entry_point(entry: EntryPoint) -> Service:
    """Load the provider of an entry point. Raises ModelNotFound if that fails."""
    try:
        loaded = entry.load()
        if not isinstance(loaded, Service):
            raise TypeError(f"{entry.value} is a {type(loaded).__name__} and declares no provider")
    except Exception as error:  # third-party code: any error becomes one line for the user
        raise ModelNotFound(
            f"The provider {entry.name!r} cannot be loaded: {type(error).__name__}: {error}.",
            f"Update or remove the package that brings {entry.module}.",
        ) from error
    return loaded


def _make_service_model(
    name: str, settings: Settings, environ: Mapping[str, str], *, keyless: bool
) -> ChatModel:
    """Create a service's model. A name without provider (`gpt-4.1`) is looked up in the table. Raises like
    `make_model`."""
    endpoint = _resolve(name, settings, environ, keyless=keyless)
    learned = _learned.setdefault(endpoint.origin, {})
    row, layer, like = _row_of(endpoint, environ, may_ask=not keyless)
    return create_model(endpoint, row, learned, settings.entry(name), layer=layer, like=like)


def price_of(name: str, settings: Settings, environ: Mapping[str, str]) -> Row | None:
    """Return a model's prices by its name, with the keys of the table. Nothing is asked, of its server neither. None if
    no model has this name; {} if its prices are not known."""
    name = name.strip()
    try:
        endpoint = _resolve(name, settings, environ, keyless=True)
    except SwecliError:
        return None
    row, layer, like = _row_of(endpoint, environ, may_ask=False)
    entry = settings.entry(name)
    return Profile.build(endpoint, row, {}, {}, entry, layer=layer, like=like).price


def _resolve(
    name: str, settings: Settings, environ: Mapping[str, str], *, keyless: bool
) -> Endpoint:
    """Return the endpoint of a service's model. Raises like `make_model`."""
    entry = settings.entry(name)
    full_name = name if entry is None else entry.model or entry.name
    if entry and entry.api in _PROVIDER_OF_API:
        full_name = f"{_PROVIDER_OF_API[entry.api]}/{full_name}"
    is_responses = full_name.startswith(_RESPONSES_NAME)
    if is_responses:
        full_name = f"openai/{full_name.removeprefix(_RESPONSES_NAME)}"
    if "/" not in full_name:
        full_name = f"{_owner_of(full_name, entry)}/{full_name}"
    _check_provider(full_name.partition("/")[0])

    endpoint = resolve(full_name, environ, entry, keyless=keyless)
    if entry or is_responses:
        endpoint = replace(endpoint, name=name)
    if is_responses and endpoint.api == "openai":
        endpoint = replace(endpoint, api="responses")
    return endpoint


def _owner_of(name: str, entry: ModelEntry | None) -> str:
    """Return the provider of a model that is named without one. Raises ModelNotFound."""
    if name in SERVICES:
        model = SERVICES[name].default_model or f"{name}/NAME"
        raise ModelNotFound(
            f"{name} is a provider.",
            f"Name one of its models: {model}. See swecli models {name}.",
        )
    makers = [service.name for service in HOSTED if find_row(service.name, name)]
    owner = makers[0] if makers else (find_row("", name) or {}).get("litellm_provider")
    if not owner:
        raise ModelNotFound(f"There is no model {name!r}.", _hint_for_unknown(name, entry))
    return str(owner)


def _check_provider(name: str) -> None:
    """Raise ModelNotFound if there is no such provider."""
    if name in SERVICES or name in OTHER_NAMES:
        return
    names = provider_names()
    if names and name not in names:
        hint = did_you_mean(name, sorted(names | set(SERVICES)))
        raise ModelNotFound(
            f"There is no provider {name!r}.", hint or "Write the model as provider/name."
        )


def _hint_for_unknown(name: str, entry: ModelEntry | None) -> str:
    """Return what helps with a name without a provider that no table knows."""
    models = model_table()
    full_names: dict[str, str] = {}  # by the name without a provider
    for service in (*LOCAL, *HOSTED):
        for model in chat_models(models, service.name):
            full_names.setdefault(model.partition("/")[2], model)
    similar = similar_names(name, full_names, _MAX_SIMILAR)
    if similar:
        return f"Did you mean {' or '.join(full_names[model] for model in similar)}?"
    if entry:
        return f'Set api = "openai" or "anthropic" in [models.{entry}], or use demo.'
    if name and any(name in model for model in full_names):
        return f"It is a part of several names: see swecli models {name}."
    return "Write it as provider/name, or use demo."


def _row_of(
    endpoint: Endpoint, environ: Mapping[str, str], *, may_ask: bool
) -> tuple[Row | None, str, str]:
    """Return a model's row, the layer of the record that it is, and the name of the similar model whose row it is; ""
    for a row of its own."""
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


def create_model(
    endpoint: Endpoint,
    row: Row | None,
    learned: dict[str, Any] | None = None,
    entry: ModelEntry | None = None,
    layer: str = "table",
    like: str = "",
) -> ChatModel:
    """Create the model for an endpoint and its row of the table, of the service's list (as `layer` says) or of the
    similar model `like`."""
    profile = Profile.build(endpoint, row, endpoint.probe(), learned, entry, layer=layer, like=like)
    has_own_api = entry is not None and entry.api
    needs_responses = (row or {}).get("mode") == "responses" and not has_own_api
    if needs_responses and profile.wire != "responses":
        # late: only the wire in use is imported
        from swecli.llm.providers.litellm import LiteLLMResponses

        return LiteLLMResponses(endpoint, profile, learned)
    if endpoint.api == "litellm" and endpoint.provider != "azure":
        # late: as above
        from swecli.llm.providers.litellm import LiteLLMModel

        return LiteLLMModel(endpoint, profile, learned)
    if endpoint.api == "gemini":
        # late: as above
        from swecli.llm.providers.gemini import Gemini

        return Gemini(endpoint, profile, learned)
    if endpoint.api == "anthropic":
        # late: as above
        from swecli.llm.providers.anthropic import Anthropic

        return Anthropic(endpoint, profile, learned)
    # late: as above
    from swecli.llm.providers.openai_wires import OpenAIModel

    return OpenAIModel(endpoint, profile, learned)


def list_services() -> Iterator[tuple[str, Service | ModelNotFound]]:
    """Yield the name of each service that models can be used of, and the service, or why it cannot be loaded."""
    built_in = [
        service
        for service in built_in_providers()
        if service.key_variables or service.default_model
    ]
    yield from ((service.name, service) for service in (*HOSTED, *LOCAL, *built_in))
    for entry in installed_entry_points(_PROVIDERS):
        try:
            yield entry.name, _load_entry_point(entry)
        except ModelNotFound as error:
            yield entry.name, error
