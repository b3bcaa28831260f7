"""Resolve a model name to an endpoint (address, key, wire), and probe local servers for their models and limits."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, Literal
from urllib.parse import urlsplit

from swecli.config.model_entry import ModelEntry, parse_base_url, parse_headers
from swecli.llm import default_models
from swecli.llm.masking import mask_secrets
from swecli.llm.price_table import chat_models, did_you_mean, model_table, token_count
from swecli.llm.services import (
    OTHER_NAMES,
    SERVICES,
    Api,
    Auth,
    Service,
    auth_of_api,
    is_of_service,
    other_service,
    service_at,
)
from swecli.models.errors import AuthFailed, ConfigError, ModelNotFound
from swecli.values import dataclass

_CONNECT_SECONDS = 0.2
_ANSWER_SECONDS = 0.5
_MAX_RESPONSE_BYTES = 1 << 22
_OLLAMA_WINDOW = 4_096
_NOT_FOR_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "stable-diffusion")
# the fields of their names and windows in these lists
_NAME_FIELDS = ("id", "key", "model", "name")
_WINDOW_FIELDS = (
    "n_ctx",
    "context_length",
    "loaded_context_length",
    "max_model_len",
    "max_context_length",
)
_FIRST_BYTE, _FIRST_BYTE_IF_NEAR = 300.0, 900.0  # seconds
_TIMEOUTS = ("first_byte", "first_token", "quiet")  # fields of `Endpoint` and of `ModelEntry`
LOOPBACK = ("127.0.0.1", "localhost", "::1")
Server = Literal["service", "local", "other"]


def is_loopback(address: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(address).hostname or ""
    return host in LOOPBACK or host.startswith("127.") or host.endswith(".localhost")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. Timeouts are in seconds."""

    name: str
    provider: str
    model: str
    api: Api  # the wire protocol
    base_url: str | None  # as configured; None: the service's own, which litellm knows too
    key: str | None = field(repr=False)  # None: `key_command` prints it, or litellm finds it
    address: str  # in messages
    key_name: str  # the same
    local: bool
    first_byte: float = _FIRST_BYTE  # after the request was sent
    first_token: float = 900.0  # while only keep-alives arrive
    quiet: float = 120.0  # between later bytes
    before_call: float = 300.0  # the same as long as a call may follow
    after_finish: float = 4.0  # for the usage that may follow the finish reason
    # what the user configured
    auth: Auth = "bearer"  # the header of the key
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    thinking: str = ""
    key_command: tuple[str, ...] = ()  # it runs before the first request

    @property
    def origin(self) -> str:
        """Identify provider, address and model: opaque blocks are only sent back to the origin that produced them."""
        return f"{self.provider} {self.address} {self.model}"

    @property
    def server(self) -> Server:
        """Whose server answers: a service's own, one on this machine or network, or any other."""
        host = urlsplit(self.address).hostname or ""
        if self.local or host in LOOPBACK:
            return "local"
        is_known = self.base_url is None or is_of_service(self.address)
        return "service" if is_known else "other"

    @property
    def service(self) -> Service:
        """The service that answers: that of the address, else the one that the model's name begins with."""
        named = SERVICES.get(self.provider)
        return service_at(self.address) or named or other_service(self.provider)

    @property
    def has_own_key_name(self) -> bool:
        """Whether it is known what the key is called: litellm takes logins of many kinds for other services."""
        return not self.service.other_logins or self.key is not None or bool(self.key_command)

    @property
    def is_keyless(self) -> bool:
        """Whether requests go out without a key."""
        return self.has_own_key_name and not (self.key or self.key_command)

    @property
    def key_ways(self) -> str:
        """How a key is given to this model, in words."""
        variables = " or ".join(self.service.key_variables)
        table = "key_env or key_command in its table [models.NAME]"
        return f"set {variables}, or {table}" if variables else f"set {table}"

    @property
    def has_key(self) -> bool:
        """Whether a wire of our own can be used at a configured address: it only knows keys."""
        return self.base_url is not None and bool(self.key or self.key_command)

    @property
    def is_openrouter(self) -> bool:
        """Whether OpenRouter answers: it lists its models with their prices, and reports costs."""
        return self.service.name == "openrouter"

    def mask(self, text: str) -> str:
        """Return foreign text without the key and the values of the user's headers."""
        return mask_secrets(text, [self.key or "", *self.headers.values()])

    def probe(self) -> dict[str, Any]:
        """Ask a local server for its window and capabilities, as Profile fields; {} for any other server, and without
        an answer in 0.5 s."""
        server = self._probed_server()
        if server is None:
            return {}
        service = SERVICES[self.provider]
        window = self._listed_window(server, service.lists)
        fields: dict[str, Any] = {}
        if service.name == "ollama":
            fields = _ask_ollama(server, self.model)
        elif not window and service.name != "lm_studio":  # older llama.cpp
            properties = _fetch_json(server, "/props").get("default_generation_settings")
            fields["window"] = token_count(properties, "n_ctx") or None
        if window:
            fields["window"] = window
        return {name: value for name, value in fields.items() if value is not None}

    def _listed_window(self, server: tuple[str, int], paths: Sequence[str]) -> int:
        """Return the window that a server's lists of models name for this one, 0 if none does."""
        names = (self.model, f"{self.model}:latest")
        for path in paths:
            for row in _objects_in(_fetch_json(server, path)):
                if any(row.get(field) in names for field in _NAME_FIELDS):
                    return _window_in(row)
        return 0

    def list_models(self) -> list[str]:
        """Return the names of the chat models that a local server lists; [] if it is not a model server."""
        server = self._probed_server()
        if server is None:
            return []
        ids = [row.get("id") for row in _objects_in(_fetch_json(server, "/v1/models"))]
        names = [name for name in ids if isinstance(name, str) and name.isprintable() and name]
        return [name for name in names if not any(word in name.lower() for word in _NOT_FOR_CHAT)]

    def similar_models(self) -> str:
        """Return "Did you mean ...?" with similar names of the service's models, "" if there are none."""
        listed = [f"{self.provider}/{name}" for name in self.list_models()]
        names = [*listed, *chat_models(model_table(), self.provider)]
        return did_you_mean(f"{self.provider}/{self.model}", names)

    def _probed_server(self) -> tuple[str, int] | None:
        """Return host and port of a server that may be probed (local service or loopback address), else None."""
        parts = urlsplit(self.address)
        is_near = self.local or parts.hostname in LOOPBACK
        has_protocol = parts.scheme == "http" and self.api == "openai"
        if not is_near or not has_protocol or self.is_openrouter:
            return None
        return parts.hostname or "127.0.0.1", parts.port or 80


def resolve(
    name: str, environ: Mapping[str, str], entry: ModelEntry | None = None, *, keyless: bool = False
) -> Endpoint:
    """Resolve `provider/model` from the service's environment variables and the user's `[models]` entry. A configured
    base URL never receives a key that was set for the service itself.

    Raises ModelNotFound for a name without provider or model, AuthFailed for a malformed key, or unless `keyless` a
    missing one, ConfigError for an invalid address or a header that names an unset variable.
    """
    settings = entry or ModelEntry(name)
    provider, model = _split_name(name)
    service = SERVICES.get(provider) or other_service(provider)
    if not service.local and provider in SERVICES:
        provider = service.name
    base_url = _configured_base(service, settings, environ)
    key_name, key = _find_key(service, settings, environ)
    may_lack_key = base_url or settings.key_command or service.other_logins
    has_key = bool(key or settings.key_command)
    if not (key or keyless) and (settings.key_env or not may_lack_key):
        raise service.missing_key(entry or name, key_name)

    address = base_url or service.address
    api = settings.api or service.api
    if api == "anthropic":
        address = address.removesuffix("/v1")
    if service.name == "azure" and api == "litellm" and "/openai/v1" in address and has_key:
        api = "openai"  # the wire that Azure has there
    if api == "litellm" and settings.base_url and not settings.key_command:
        # otherwise litellm would send a key from the environment to this address
        key = key or "none"
    is_near = service.local or urlsplit(address).hostname in LOOPBACK
    return Endpoint(
        name=name,
        provider=provider,
        model=model,
        api=api,
        base_url=base_url,
        key=key or None,
        address=address,
        key_name=key_name or "key_command",
        local=service.local,
        auth=_auth_of(service, settings, api, key_name),
        headers={**_headers_of_service(service, settings, environ), **_headers(settings, environ)},
        extra_body=settings.extra_body or {},
        thinking=settings.thinking or "",
        key_command=settings.key_command or (),
        **_timeouts(settings, is_near=is_near),
    )


def _split_name(name: str) -> tuple[str, str]:
    """Return provider and model of `provider/model`. Raises ModelNotFound if one of them is missing."""
    provider, _, model = name.strip().partition("/")
    if not provider or not model:
        raise ModelNotFound(
            f"{name!r} is not a model name.",
            f"Write it as provider/name, for example {default_models.OPENAI}, or use demo.",
        )
    return OTHER_NAMES.get(provider, provider), model


def _timeouts(settings: ModelEntry, *, is_near: bool) -> dict[str, float]:
    """Return the timeouts that differ from the usual ones, in seconds. A server on this machine or network may load the
    model before it answers."""
    timeouts = {"first_byte": _FIRST_BYTE_IF_NEAR} if is_near else {}
    for timeout in _TIMEOUTS:
        seconds = getattr(settings, timeout)
        if seconds:
            timeouts[timeout] = float(seconds)
    first_byte = timeouts.get("first_byte", _FIRST_BYTE)
    return {**timeouts, "before_call": timeouts.get("quiet", first_byte)}


def _find_key(
    service: Service, settings: ModelEntry, environ: Mapping[str, str]
) -> tuple[str, str]:
    """Return the variable of the key and the key, "" for what there is not. Raises AuthFailed for a malformed key."""
    variables = service.key_variables
    if settings.key_env:
        variables = (settings.key_env,)
    elif settings.base_url or settings.key_command:
        variables = ()
    name, key = _first_set(environ, variables)
    if not (key.isascii() and key.isprintable()):
        raise AuthFailed(
            f"{name} has a character that no key has.",
            "Set it again, the key alone on one line.",
        )
    return name, key


def _auth_of(service: Service, settings: ModelEntry, api: Api, key_name: str) -> Auth:
    """Return the header in which the key goes."""
    if settings.auth:
        return settings.auth
    if key_name in service.bearer_keys and not settings.key_env:
        return "bearer"
    if settings.api in (None, "litellm") or service.auth == "api-key":
        return service.auth
    return auth_of_api(api)


def _headers_of_service(
    service: Service, settings: ModelEntry, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers that the service's own variables set, unless the address is one of a table. Raises
    ConfigError."""
    if settings.base_url:
        return {}
    headers = {
        name: environ[variable].strip()
        for name, variable in service.headers.items()
        if environ.get(variable, "").strip()
    }
    lines = environ.get(service.more_headers, "").splitlines()
    for line in filter(str.strip, lines):
        name, colon, content = line.partition(":")
        headers[name.strip()] = content.strip()
        if not colon:
            raise ConfigError(f"{service.more_headers} has a line that is not `Name: value`.")
    try:
        return parse_headers(headers)
    except ValueError as error:
        variables = ", ".join(filter(None, (*service.headers.values(), service.more_headers)))
        raise ConfigError(f"A header of {variables} cannot be sent: {error}.") from None


def _headers(entry: ModelEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the entry's headers with `${VARIABLE}` expanded. Raises ConfigError."""

    def value_of(match: re.Match[str]) -> str:
        value = environ.get(match[1], "").strip()
        if not value or not (value.isascii() and value.isprintable()):
            raise ConfigError(
                f"{match[1]}, which a header of [models.{entry}] names, is not set or not one line of plain text."
            )
        return value

    return {
        name: re.sub(r"\$\{(\w+)\}", value_of, content)
        for name, content in (entry.headers or {}).items()
    }


def _configured_base(
    service: Service, settings: ModelEntry, environ: Mapping[str, str]
) -> str | None:
    """Return the configured base URL, None if there is none; for a local service its default, with scheme, port and
    `/v1` filled in. Raises ConfigError for an invalid address."""
    variable, configured = _first_set(environ, service.base_variables)
    configured = settings.base_url or configured
    if not configured:
        return service.address if service.local else None
    if service.local and "://" not in configured:
        configured = f"http://{configured}"
    try:
        address = parse_base_url(configured)
        if not service.local:
            return address
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else service.port)
    except ValueError as error:
        raise ConfigError(f"{variable} {error}.") from None
    host = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else str(parts.hostname)
    host = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{host}:{port}{path if path.endswith('/v1') else path + '/v1'}"


def _first_set(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    """Return name and value of the first variable that is set; else the first name and "", and twice "" without
    names."""
    for name in names:
        value = _unquoted(environ.get(name, "").strip())
        if value:
            return name, value
    return names[0] if names else "", ""


def _unquoted(value: str) -> str:
    """Return a value without the quotes around it, which some files of variables leave there."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].strip() if is_quoted else value


def _window_in(row: Mapping[str, Any]) -> int:
    """Return the window in a server's row of a model: that of its loaded instance, else the largest possible, or 0."""
    loaded = [instance.get("config") for instance in _objects_in(row, "loaded_instances")]
    for holder in (*loaded, row, row.get("meta")):
        window = token_count(holder, *_WINDOW_FIELDS)
        if window:
            return window
    return 0


def _ask_ollama(server: tuple[str, int], model: str) -> dict[str, Any]:
    """Return what Ollama knows about a model, as Profile fields; its window unless it is loaded with another one. {} if
    it does not know the model."""
    description = _fetch_json(server, "/api/show", {"model": model})
    if not description:
        return {}
    parameters = str(description.get("parameters") or "")
    configured = re.search(r"^num_ctx\s+([1-9]\d{0,8})", parameters, re.MULTILINE)
    window = int(configured[1]) if configured else _OLLAMA_WINDOW
    info = description.get("model_info")
    names = info if isinstance(info, dict) else ()
    largest = token_count(info, *(name for name in names if name.endswith(".context_length")))
    fields: dict[str, Any] = {"window": min(window, largest or window)}
    capabilities = description.get("capabilities")
    if isinstance(capabilities, list):
        fields["tools"] = "tools" in capabilities
        fields["images"] = "vision" in capabilities
    return fields


def _objects_in(answer: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return the objects of the first of these lists in an answer, by default its models; [] if it has none."""
    objects = next((answer[name] for name in names or ("data", "models") if name in answer), None)
    if not isinstance(objects, list):
        return []
    return [item for item in objects if isinstance(item, dict)]


def _fetch_json(server: tuple[str, int], path: str, body: Any = None) -> dict[str, Any]:
    """GET a path, or POST `body` to it; return the JSON object that comes, {} on any failure or timeout."""
    with (
        suppress(OSError, ValueError, RecursionError),
        socket.create_connection(server, _CONNECT_SECONDS) as stream,
    ):
        stream.settimeout(_ANSWER_SECONDS)
        # late: only needed when a server accepts the connection
        from http.client import HTTPConnection, HTTPException

        connection = HTTPConnection(*server)
        connection.sock = stream
        with suppress(HTTPException):
            connection.request("POST" if body else "GET", path, body and json.dumps(body))
            answer = connection.getresponse()
            if answer.status != 200:
                return {}
            value = json.loads(answer.read(_MAX_RESPONSE_BYTES))
            return value if isinstance(value, dict) else {}
    return {}
