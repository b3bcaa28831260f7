"""The services whose models can be used, as `services.json` describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from swecli.config.model_entry import THINKING
from swecli.models.errors import AuthFailed
from swecli.models.json_value import JsonMapping, JsonObject
from swecli.values import dataclass

Value = TypeVar("Value")
DEMO = "demo"  # the model that needs no service
Api = Literal["openai", "responses", "anthropic", "gemini", "litellm"]  # wire protocols
Auth = Literal["bearer", "x-api-key", "api-key", "x-goog-api-key"]  # the header of a key
# how a thinking level is sent: `reasoning_effort` · on or off by `thinking.type`, a level beside it ·
# `enable_thinking`, with a budget · OpenRouter's `reasoning` · a variable of the chat template · not at all · and the
# wires that have one
Dialect = Literal[
    "effort", "switch", "enable_thinking", "reasoning", "template", "none",
    "responses", "anthropic", "gemini", "litellm",
]  # fmt: skip
# all levels of thinking of all services, from the least to the most
LEVELS = ("none", "minimal", *(word for word in THINKING if word != "off"))
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
    # by parts of names, of which the first one counts: all levels; the fewest and the most tokens of thinking
    model_levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    budgets: Mapping[str, Sequence[int]] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)  # more of each chat completion
    off: tuple[str, ...] = ()  # fields that it refuses
    filler: str = ""  # thoughts, or their signature, of answers without; "" if they may be missing
    lists: tuple[str, ...] = (
        "/v1/models",
        "/props",
    )  # where its models are listed with their windows
    make: Callable[[str, Any, Mapping[str, str]], Any] | None = None

    def levels_of(self, model: str) -> Sequence[str] | None:
        """Return all thinking levels of a model, None if they are not known."""
        return _of_family(self.model_levels, model)

    def budget_of(self, model: str) -> Sequence[int] | None:
        """Return the fewest and the most tokens for which a model thinks, None if it takes no number of tokens."""
        return _of_family(self.budgets, model)

    @property
    def local(self) -> bool:
        """Return True for a server on this machine or network that needs no account."""
        return self.port > 0

    def missing_key(self, model: object, variable: str) -> AuthFailed:
        """Return the error for a model whose key variable is not set."""
        hint = f"Set it (export {variable}=…), choose another model with -m, or try -m {DEMO}."
        return AuthFailed(f"{variable} is not set, so {model} cannot be used.", hint)


_FIELDS = {field.name for field in fields(Service)} - {"make"}


def first_set(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    """Return name and value of the first variable that is set; else the first name and "", and twice "" without
    names."""
    for name in names:
        value = unquoted(environ.get(name, "").strip())
        if value:
            return name, value
    return names[0] if names else "", ""


def unquoted(value: str) -> str:
    """Return a value without the quotes around it, which some files of variables leave there."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].strip() if is_quoted else value


def _of_family(by_part: Mapping[str, Value], model: str) -> Value | None:
    """Return the value of the first part that a model's name has, None if it has none of them."""
    return next((value for part, value in by_part.items() if part in model.lower()), None)


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
    return service_of(row)


def service_of(row: JsonMapping) -> Service:
    """Return the service of a row, with what follows from its name, address and protocol unless the row states it.
    Raises ValueError that names row and field."""
    for name, value in row.items():
        if name not in _FIELDS:
            raise ValueError(f"the service {row['name']} has an unknown field {name!r}")
        if name in _WORDS and value not in _WORDS[name]:
            words = " or ".join(_WORDS[name])
            raise ValueError(f"the service {row['name']} has {name} {value!r}, not {words}")
    stem = row["name"].upper()
    values: JsonObject = {
        "key_variables": [f"{stem}_API_KEY"],
        "auth": auth_of_api(row.get("api", "openai")),
        "domains": [domain_of(row["address"])],
    }
    if row.get("dialect", "effort") in ("effort", "template"):
        values["levels"] = ["low", "medium", "high"]
    values |= row
    values["base_variables"] = [
        *row.get("base_variables", ()),
        f"{stem}_BASE_URL",
        f"{stem}_API_BASE",
    ]
    for key, value in values.items():
        values[key] = tuple(value) if isinstance(value, list) else value
    return Service(**values)


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
_ALL = tuple(service_of(row) for row in _DOCUMENT["services"])
LOCAL = tuple(service for service in _ALL if service.local)
HOSTED = tuple(service for service in _ALL if not service.local)
CLOUDS = tuple(_DOCUMENT["clouds"])
MODEL_NAMES: Mapping[str, str] = _DOCUMENT["models"]  # names that people type, and the whole ones
OTHER_NAMES: Mapping[str, str] = _DOCUMENT["other_names"]  # the same of providers of litellm's
SERVICES: Mapping[str, Service] = {
    name: service for service in _ALL for name in (service.name, *service.aliases)
}
