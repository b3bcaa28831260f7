"""Resolve a model name to an endpoint (address, key, wire), and probe local servers for their models and limits."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from swecli.config.model_entry import ModelEntry, parse_base_url
from swecli.llm import default_models
from swecli.llm.masking import mask_secrets
from swecli.llm.price_table import chat_models, did_you_mean, model_table, token_count
from swecli.models.errors import AuthFailed, ConfigError, ModelNotFound

_CONNECT_SECONDS, _ANSWER_SECONDS = 0.2, 0.5
_MAX_RESPONSE_BYTES = 1 << 22
_OLLAMA_DEFAULT = 4_096
_NO_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "stable-diffusion")
# where a service lists its models with their windows, if not in /v1/models; the fields of their names and windows
_LISTS = {"ollama": ("/api/ps",), "lm_studio": ("/api/v1/models", "/api/v0/models")}
_NAMES = ("id", "key", "model", "name")
_WINDOWS = (
    "n_ctx",
    "context_length",
    "loaded_context_length",
    "max_model_len",
    "max_context_length",
)
_CLOCKS = ("first_byte", "first_token", "quiet")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
DEMO = "demo"  # the model that needs none of these
Api = Literal["openai", "responses", "anthropic", "litellm"]
Server = Literal["service", "local", "other"]


@dataclass(frozen=True, slots=True)
class Service:
    """A model service. `keys` and `bases` name environment variables for API key and base URL (the first one set wins);
    `address` is the default base URL. A local service has a `port`, needs no key and serves the OpenAI protocol under
    `/v1`. `default_model` is used when only its key is set; `api` is its wire protocol, unless `make(name, settings,
    environ)` creates its models."""

    name: str
    keys: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    address: str = ""
    port: int = 0
    default_model: str = ""
    aliases: tuple[str, ...] = ()
    api: Api = "openai"
    make: Callable[[str, Any, Mapping[str, str]], Any] | None = None

    @property
    def local(self) -> bool:
        """Return True for a server on this machine or network that needs no account."""
        return self.port > 0

    def missing_key(self, model: object, variable: str) -> AuthFailed:
        """Return the error for a model whose key variable is not set."""
        hint = f"Set it (export {variable}=…), choose another model with -m, or try -m {DEMO}."
        return AuthFailed(f"{variable} is not set, so {model} cannot be used.", hint)


def _hosted(name: str, address: str, default: str = "", *keys: str, api: Api = "openai") -> Service:
    stem = name.upper()
    bases = (f"{stem}_BASE_URL", f"{stem}_API_BASE")
    return Service(
        name,
        keys or (f"{stem}_API_KEY",),
        bases,
        address,
        0,
        default and f"{name}/{default}",
        (),
        api,
    )


def _local_server(name: str, port: int, alias: str, *bases: str) -> Service:
    known = _hosted(name, f"http://127.0.0.1:{port}/v1")
    return replace(known, bases=(*bases, *known.bases), port=port, aliases=(alias,))


def _model(name: str) -> str:
    return name.partition("/")[2]


LOCAL = (
    _local_server("ollama", 11434, "ollama_chat", "OLLAMA_HOST"),
    _local_server("lm_studio", 1234, "lmstudio"),
    _local_server("llamacpp", 8080, "llama.cpp"),
    _local_server("vllm", 8000, "hosted_vllm", "HOSTED_VLLM_API_BASE"),
)
_GOOGLE, _TOGETHER = "https://generativelanguage.googleapis.com", "https://api.together.xyz/v1"
_FIREWORKS, _GLM = "https://api.fireworks.ai/inference/v1", "accounts/fireworks/models/glm-5p3"
_DASHSCOPE = "https://dashscope.aliyuncs.com/compatible-mode/v1"
# default models are in the table with tools and prices; a service without one is not chosen by its key alone
KEYED = (
    _hosted("openai", "https://api.openai.com/v1", _model(default_models.OPENAI)),
    _hosted(
        "anthropic", "https://api.anthropic.com", _model(default_models.ANTHROPIC), api="anthropic"
    ),
    _hosted(
        "gemini", _GOOGLE, "gemini-3.8-flash", "GEMINI_API_KEY", "GOOGLE_API_KEY", api="litellm"
    ),
    _hosted("openrouter", "https://openrouter.ai/api/v1"),
    _hosted("mistral", "https://api.mistral.ai/v1", "mistral-large-4"),
    _hosted("groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    _hosted("deepseek", "https://api.deepseek.com", "deepseek-v4-pro"),
    _hosted("xai", "https://api.x.ai/v1", "grok-4.7"),
    _hosted("cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b"),
    _hosted(
        "together_ai", _TOGETHER, "zai-org/GLM-5.3", "TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"
    ),
    _hosted("fireworks_ai", _FIREWORKS, _GLM, "FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    _hosted("moonshot", "https://api.moonshot.ai/v1", "kimi-k3"),
    _hosted("zai", "https://api.z.ai/api/paas/v4", "glm-5.3"),
    _hosted("minimax", "https://api.minimax.io/v1", "MiniMax-M3"),
    _hosted("dashscope", _DASHSCOPE, "qwen3.8-max"),
    _hosted(
        "perplexity", "https://api.perplexity.ai", "", "PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"
    ),
)


def _domain(host: str) -> str:
    """Return the last two labels of a host's name."""
    return ".".join(host.split(".")[-2:])


# of the services above, of their addresses in other countries, and of clouds that serve their models
_DOMAINS = {_domain(urlsplit(service.address).hostname or "") for service in KEYED} | {
    "moonshot.cn",
    "bigmodel.cn",
    "minimaxi.com",
    "azure.com",
    "amazonaws.com",
}
SERVICES: Mapping[str, Service] = {
    name: one for one in (*LOCAL, *KEYED) for name in (one.name, *one.aliases)
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. `api` is the wire protocol. `base` and `key` are None if litellm resolves them itself;
    `address` and `key_name` appear in messages. Timeouts in seconds: `first_byte` after the request was sent,
    `first_token` while only keep-alives arrive, `quiet` between later bytes, `after_finish` for the usage that
    may follow the finish reason. `headers`, `extra_body` and `thinking`
    come from the user's configuration. `key_command` prints the key; it runs before the first request."""

    name: str
    provider: str
    model: str
    api: Api
    base: str | None
    key: str | None = field(repr=False)
    address: str
    key_name: str
    local: bool
    first_byte: float = 300.0
    first_token: float = 900.0
    quiet: float = 120.0
    after_finish: float = 4.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    thinking: str = ""
    key_command: tuple[str, ...] = ()

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
        return "service" if self.base is None or _domain(host) in _DOMAINS else "other"

    @property
    def has_own_key_name(self) -> bool:
        """Whether it is known what the key is called: litellm takes logins of many kinds for other services."""
        return self.provider in SERVICES or self.key is not None or bool(self.key_command)

    @property
    def has_key(self) -> bool:
        """Whether a wire of our own can be used at a configured address: it only knows keys."""
        return self.base is not None and bool(self.key or self.key_command)

    @property
    def is_openrouter(self) -> bool:
        """Whether OpenRouter answers: it lists its models with their prices, and reports costs."""
        host = urlsplit(self.address).hostname or ""
        return self.provider == "openrouter" or host == "openrouter.ai"

    def mask(self, text: str) -> str:
        """Return foreign text without the key and the values of the user's headers."""
        return mask_secrets(text, [self.key or "", *self.headers.values()])

    def probe(self) -> dict[str, Any]:
        """Ask a local server for its window and capabilities, as Profile fields; empty without answer in 0.5 s."""
        if (place := self._probe_address()) is None:
            return {}
        service, names = SERVICES[self.provider].name, (self.model, f"{self.model}:latest")
        rows = (
            row
            for path in _LISTS.get(service, ("/v1/models",))
            for row in _rows(_fetch_json(place, path))
        )
        window = next(
            (_window(row) for row in rows if any(row.get(key) in names for key in _NAMES)), None
        )
        known: dict[str, Any] = {}
        if service == "ollama":
            known = _ollama(place, self.model)
        elif not window and service not in _LISTS:  # older llama.cpp
            known = {
                "window": token_count(
                    _fetch_json(place, "/props").get("default_generation_settings"), "n_ctx"
                )
            }
        known |= {"window": window or known.get("window") or None}
        return {name: value for name, value in known.items() if value is not None}

    def list_models(self) -> list[str]:
        """Return the names of the chat models that a local server lists; empty if it is not a model server."""
        place = self._probe_address()
        names = [row.get("id") for row in _rows(_fetch_json(place, "/v1/models"))] if place else []
        good = [name for name in names if isinstance(name, str) and name.isprintable() and name]
        return [name for name in good if not any(mark in name.lower() for mark in _NO_CHAT)]

    def similar_models(self) -> str:
        """Return "Did you mean ...?" with similar names of the service's models, "" if there are none."""
        known = [f"{self.provider}/{name}" for name in self.list_models()]
        return did_you_mean(
            f"{self.provider}/{self.model}", [*known, *chat_models(model_table(), self.provider)]
        )

    def _probe_address(self) -> tuple[str, int] | None:
        """Return host and port of a server that may be probed (local service or loopback address), else None."""
        parts = urlsplit(self.address)
        usable = (
            (self.local or parts.hostname in LOOPBACK)
            and parts.scheme == "http"
            and self.api == "openai"
            and not self.is_openrouter
        )
        return (parts.hostname or "127.0.0.1", parts.port or 80) if usable else None


def resolve(
    name: str, environ: Mapping[str, str], entry: ModelEntry | None = None, *, keyless: bool = False
) -> Endpoint:
    """Resolve `provider/model` from the service's environment variables and the user's `[models]` entry. A configured
    base URL never receives a key that was set for the service itself.

    Raises ModelNotFound for a name without provider or model, AuthFailed for a malformed key, or unless `keyless` a
    missing one, ConfigError for an invalid address or a header that names an unset variable.
    """
    head, _, model = name.strip().partition("/")
    if not head or not model:
        raise ModelNotFound(
            f"{name!r} is not a model name.",
            f"Write it as provider/name, for example {default_models.OPENAI}, or use demo.",
        )
    own = entry or ModelEntry(name)
    service = SERVICES.get(head) or _hosted(head.replace("-", "_"), head, api="litellm")
    base = _configured_base(
        service, {**environ, service.bases[0]: own.base_url} if own.base_url else environ
    )
    needed = (own.key_env,) if own.key_env else ()
    optional = () if own.base_url or own.key_command else service.keys
    key_name, key = _first_set(environ, needed or optional)
    if not (key.isascii() and key.isprintable()):
        raise AuthFailed(
            f"{key_name} has a character that no key has.",
            "Set it again, the key alone on one line.",
        )
    if not (key or keyless) and (needed or not (base or own.key_command or head not in SERVICES)):
        raise service.missing_key(entry or name, key_name)
    api, address = own.api or service.api, base or service.address
    if api == "anthropic":
        address = address.removesuffix("/v1")
    if api == "litellm" and own.base_url and not own.key_command:
        key = (
            key or "none"
        )  # otherwise litellm would send a key from the environment to this address
    near = service.local or urlsplit(address).hostname in LOOPBACK
    clocks: dict[str, Any] = {"first_byte": 900.0} if near else {}
    clocks |= {clock: float(set_to) for clock in _CLOCKS if (set_to := getattr(own, clock))}
    return Endpoint(
        name, head, model, api, base, key or None, address, key_name or "key_command", service.local,
        headers=_headers(own, environ), extra_body=own.extra_body or {}, thinking=own.thinking or "",
        key_command=own.key_command or (), **clocks,
    )  # fmt: skip


def _headers(entry: ModelEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the entry's headers with `${VARIABLE}` expanded. Raises ConfigError."""

    def value(found: re.Match[str]) -> str:
        content = environ.get(found[1], "").strip()
        if not content or not (content.isascii() and content.isprintable()):
            raise ConfigError(
                f"{found[1]}, which a header of [models.{entry}] names, is not set or not one line of plain text."
            )
        return content

    return {
        name: re.sub(r"\$\{(\w+)\}", value, content)
        for name, content in (entry.headers or {}).items()
    }


def _configured_base(service: Service, environ: Mapping[str, str]) -> str | None:
    """Return the configured base URL, or None; for a local service its default, with scheme, port and `/v1` filled in.
    Raises ConfigError for an invalid address."""
    variable, given = _first_set(environ, service.bases)
    if not given:
        return service.address if service.local else None
    try:
        address = parse_base_url(
            given if "://" in given or not service.local else f"http://{given}"
        )
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
    """Return name and value of the first variable that is set, else the first name and ""."""
    found = ((name, value) for name in names if (value := environ.get(name, "").strip()))
    return next(found, ((*names, "")[0], ""))


def _window(row: Mapping[str, Any]) -> int:
    """Return the window in a server's row of a model: that of its loaded instance, else the largest possible, or 0."""
    holders = (*(one.get("config") for one in _rows(row, "loaded_instances")), row, row.get("meta"))
    return next((size for holder in holders if (size := token_count(holder, *_WINDOWS))), 0)


def _ollama(place: tuple[str, int], model: str) -> dict[str, Any]:
    """Return what Ollama knows about a model; its window unless it is loaded with another one."""
    shown = _fetch_json(place, "/api/show", {"model": model})
    if not shown:
        return {}
    info, able = shown.get("model_info"), shown.get("capabilities")
    chosen = re.search(
        r"^num_ctx\s+([1-9]\d{0,8})", str(shown.get("parameters") or ""), re.MULTILINE
    )
    assumed = int(chosen[1]) if chosen else _OLLAMA_DEFAULT
    keys = info if isinstance(info, dict) else ()
    largest = token_count(info, *(key for key in keys if key.endswith(".context_length")))
    tools, images = ("tools" in able, "vision" in able) if isinstance(able, list) else (None, None)
    return {"window": min(assumed, largest or assumed), "tools": tools, "images": images}


def _rows(answer: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return the objects of the first of these lists in an answer, by default its models; [] if it has none."""
    rows = next((answer[name] for name in names or ("data", "models") if name in answer), None)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _fetch_json(place: tuple[str, int], path: str, body: Any = None) -> dict[str, Any]:
    """GET a path, or POST `body` to it; return the JSON object that comes, {} on any failure or timeout."""
    with (
        suppress(OSError, ValueError, RecursionError),
        socket.create_connection(place, _CONNECT_SECONDS) as link,
    ):
        link.settimeout(_ANSWER_SECONDS)
        # late: only needed when a server accepts the connection
        from http.client import HTTPConnection, HTTPException

        connection = HTTPConnection(*place)
        connection.sock = link
        with suppress(HTTPException):
            connection.request("POST" if body else "GET", path, body and json.dumps(body))
            answer = connection.getresponse()
            value = json.loads(answer.read(_MAX_RESPONSE_BYTES)) if answer.status == 200 else None
            return value if isinstance(value, dict) else {}
    return {}
