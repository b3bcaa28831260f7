"""The services whose models can be used, as `services.json` describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from swecli.models.errors import AuthFailed
from swecli.values import dataclass

DEMO = "demo"  # the model that needs no service
Api = Literal["openai", "responses", "anthropic", "gemini", "litellm"]  # wire protocols
Auth = Literal["bearer", "x-api-key", "api-key", "x-goog-api-key"]  # the header of a key
# how a thinking level is sent in chat completions: `reasoning_effort` · on or off by `thinking.type`, a level beside
# it · `enable_thinking`, with a budget · OpenRouter's `reasoning` · a variable of the chat template · not at all
Dialect = Literal["effort", "switch", "enable_thinking", "reasoning", "template", "none"]
_AUTH_OF_API: Mapping[Api, Auth] = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}
_FILE = Path(__file__).with_name("services.json")
# the closed sets of words that fields of a row take
_WORDS = {"api": get_args(Api), "auth": get_args(Auth), "dialect": get_args(Dialect)}


@dataclass(frozen=True, slots=True)
class Service:
    """A model service. A local one has a `port`, needs no key and serves the OpenAI protocol under `/v1`."""

    name: str
    key_variables: tuple[str, ...] = ()  # of the environment; the first one set wins
    base_variables: tuple[str, ...] = ()  # the same for its base URL
    address: str = ""  # its default base URL
    port: int = 0
    default_model: str = ""  # used when only its key is set
    aliases: tuple[str, ...] = ()
    api: Api = "openai"  # unless `make(name, settings, environ)` creates its models
    auth: Auth = "bearer"
    bearer_keys: tuple[str, ...] = ()  # key variables that go as bearer tokens all the same
    other_logins: bool = False  # litellm knows logins beside the key
    headers: Mapping[str, str] = field(default_factory=dict)  # the variable of each one's value
    more_headers: str = ""  # a variable with lines `Name: value`
    domains: tuple[str, ...] = ()
    families: tuple[str, ...] = ()  # parts of the names of its models, which others serve too
    dialect: Dialect = "effort"
    levels: tuple[str, ...] = ()  # of thinking, for models of which the table states none
    budget_families: tuple[str, ...] = ()  # the same of those that think for a number of tokens
    filler: str = ""  # thoughts, or their signature, of answers without; "" if they may be missing
    lists: tuple[str, ...] = ("/v1/models",)  # where its models are listed with their windows
    make: Callable[[str, Any, Mapping[str, str]], Any] | None = None

    @property
    def local(self) -> bool:
        """Return True for a server on this machine or network that needs no account."""
        return self.port > 0

    def missing_key(self, model: object, variable: str) -> AuthFailed:
        """Return the error for a model whose key variable is not set."""
        hint = f"Set it (export {variable}=…), choose another model with -m, or try -m {DEMO}."
        return AuthFailed(f"{variable} is not set, so {model} cannot be used.", hint)


_FIELDS = {field.name for field in fields(Service)}


def read_service(row: Mapping[str, Any]) -> Service:
    """Return the service of a row. Raises ValueError that names row and field."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    name = values.get("name")
    unknown = values.keys() - _FIELDS
    if unknown:
        raise ValueError(f"the service {name} has an unknown field {min(unknown)!r}")
    for key, words in _WORDS.items():
        if key in values and values[key] not in words:
            raise ValueError(
                f"the service {name} has {key} {values[key]!r}, not {' or '.join(words)}"
            )
    return Service(**{**_derived(values), **values, **_base_variables(values)})


def _derived(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that follow from others, unless the row states them."""
    derived: dict[str, Any] = {"auth": auth_of_api(values.get("api", "openai"))}
    derived["key_variables"] = (f"{values['name'].upper()}_API_KEY",)
    if values.get("dialect", "effort") in ("effort", "template"):
        derived["levels"] = ("low", "medium", "high")
    if values.get("address"):
        derived["domains"] = (domain_of(values["address"]),)
    return derived


def _base_variables(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of the base URL: those of the row, and the usual ones of its name."""
    stem = values["name"].upper()
    usual = (f"{stem}_BASE_URL", f"{stem}_API_BASE")
    return {"base_variables": (*values.get("base_variables", ()), *usual)}


def auth_of_api(api: Api) -> Auth:
    """Return the header in which a key goes on a wire, unless its service has another."""
    return _AUTH_OF_API.get(api, "bearer")


def domain_of(address: str) -> str:
    """Return the last two labels of an address's host, "" without a host."""
    host = urlsplit(address).hostname or ""
    return ".".join(host.split(".")[-2:])


def other_service(name: str) -> Service:
    """Return a service that only litellm knows."""
    row = {"name": name.replace("-", "_"), "address": name, "api": "litellm", "other_logins": True}
    return read_service(row)


def service_at(address: str) -> Service | None:
    """Return the known service to whose domains an address belongs, None for any other server."""
    domain = domain_of(address)
    return next((service for service in HOSTED if domain and domain in service.domains), None)


def maker_of(model: str) -> Service | None:
    """Return the service whose family of models one belongs to by its name, None if it is not known."""
    name = model.lower()
    for service in HOSTED:
        if any(word in name for word in service.families):
            return service
    return None


def is_of_service(address: str) -> bool:
    """Return whether an address is that of a known service, or of a cloud that serves its models."""
    return service_at(address) is not None or domain_of(address) in CLOUDS


_DOCUMENT = json.loads(_FILE.read_bytes())
_ALL = tuple(read_service(row) for row in _DOCUMENT["services"])
LOCAL = tuple(service for service in _ALL if service.local)
HOSTED = tuple(service for service in _ALL if not service.local)
CLOUDS = tuple(_DOCUMENT["clouds"])
MODEL_NAMES: Mapping[str, str] = _DOCUMENT["models"]  # names that people type, and the whole ones
OTHER_NAMES: Mapping[str, str] = _DOCUMENT["other_names"]  # the same of providers of litellm's
SERVICES: Mapping[str, Service] = {
    name: service for service in _ALL for name in (service.name, *service.aliases)
}
