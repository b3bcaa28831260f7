"""Where each provider is reached: the variables for its key and address, and the wire it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from swecli.models.errors import AuthFailed, ConfigError, ModelNotFound

DEMO = "demo"  # the model that needs none of these
Api = Literal["openai", "anthropic", "litellm"]


@dataclass(frozen=True, slots=True)
class Service:
    """One service. `keys` and `bases` are environment variables, the first that is set wins; `address` is where it
    is when no base is set. A `local` one needs no key and speaks the OpenAI protocol under `/v1`. `default_model` is
    what its key alone means; `aliases` are other names of it; `api` is the wire it speaks."""

    name: str
    keys: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    address: str = ""
    port: int = 0
    default_model: str = ""
    aliases: tuple[str, ...] = ()
    api: Api = "openai"

    @property
    def local(self) -> bool:
        """Whether it is a server on this machine or network, with no account."""
        return self.port > 0


def _keyed(name: str, address: str, *keys: str, default_model: str = "", api: Api = "openai") -> Service:
    stem = name.upper()
    bases = (f"{stem}_BASE_URL", f"{stem}_API_BASE")
    return Service(name, keys or (f"{stem}_API_KEY",), bases, address, default_model=default_model, api=api)


def _local(name: str, port: int, *bases: str, alias: str = "") -> Service:
    stem = name.upper()
    bases = (*bases, f"{stem}_BASE_URL", f"{stem}_API_BASE")
    return Service(name, (f"{stem}_API_KEY",), bases, "", port, aliases=(alias,) if alias else ())


LOCAL = (
    _local("ollama", 11434, "OLLAMA_HOST", alias="ollama_chat"),
    _local("lm_studio", 1234, alias="lmstudio"),
    _local("llamacpp", 8080, alias="llama.cpp"),
    _local("vllm", 8000, "HOSTED_VLLM_API_BASE", alias="hosted_vllm"),
)
# default models stand in litellm's local table
KEYED = (
    _keyed("openai", "https://api.openai.com/v1", default_model="openai/gpt-6.1-sol"),
    _keyed("anthropic", "https://api.anthropic.com", default_model="anthropic/claude-sonnet-5-5", api="anthropic"),
    _keyed(
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        default_model="gemini/gemini-3.8-flash",
        api="litellm",
    ),
    _keyed("openrouter", "https://openrouter.ai/api/v1"),
    _keyed("mistral", "https://api.mistral.ai/v1"),
    _keyed("groq", "https://api.groq.com/openai/v1"),
    _keyed("deepseek", "https://api.deepseek.com"),
    _keyed("xai", "https://api.x.ai/v1"),
    _keyed("cerebras", "https://api.cerebras.ai/v1"),
    _keyed("together_ai", "https://api.together.xyz/v1", "TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"),
    _keyed("fireworks_ai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    _keyed("perplexity", "https://api.perplexity.ai", "PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
)
SERVICES: Mapping[str, Service] = {name: one for one in (*LOCAL, *KEYED) for name in (one.name, *one.aliases)}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. `api` is the wire. `base` and `key` are None where litellm finds them itself;
    `address` and `key_name` are for messages. Clocks are in seconds, None for ever: without any byte once the request
    was sent, until the first token while bytes come, and without a byte after it. `headers`, `extra_body` and
    `thinking` are the user's own, `max_tokens` the length of an answer that the user set."""

    name: str
    provider: str
    model: str
    api: Api
    base: str | None
    key: str | None = field(repr=False)
    address: str
    key_name: str
    local: bool
    first_byte: float | None = 300.0
    first_token: float | None = 900.0
    quiet: float | None = 120.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    thinking: str = ""
    max_tokens: int | None = None

    @property
    def origin(self) -> str:
        """What opaque parts of its answers belong to: they are sent to no other."""
        return f"{self.provider} {self.address} {self.model}"


def resolve(name: str, environ: Mapping[str, str]) -> Endpoint:
    """Where `provider/model` is and how to call it.

    Raises:
        ModelNotFound: when the name has no provider or no model in it.
        AuthFailed: when the provider needs a key and no variable holds one, or it cannot be one; names the variable.
        ConfigError: for an address that is none.
    """
    head, _, model = name.strip().partition("/")
    if not head or not model:
        raise ModelNotFound(
            f"{name!r} is no model name.", "Write it as provider/name, for example openai/gpt-4.1, or use demo."
        )
    service = SERVICES.get(head)
    if service is None:
        return _unlisted(name, head, model, environ)
    base = base_of(service, environ)
    key_name, key = _key(service.keys, environ)
    if service.local:
        address = base or f"http://127.0.0.1:{service.port}/v1"
        return Endpoint(name, head, model, "openai", address, key, address, key_name, True, first_byte=900.0)
    if key is None and base is None:
        raise AuthFailed(
            f"{service.keys[0]} is not set, so {name} cannot be used.",
            f"Set it (export {service.keys[0]}=…), choose another model with -m, or try -m demo.",
        )
    if base is not None:
        check_address(base, service.bases[0])
    return Endpoint(name, head, model, service.api, base, key, base or service.address, key_name, False)


def _unlisted(name: str, head: str, model: str, environ: Mapping[str, str]) -> Endpoint:
    """A provider litellm knows and we do not: it looks for its own variables."""
    stem = head.upper().replace("-", "_")
    base = _first(environ, (f"{stem}_BASE_URL", f"{stem}_API_BASE"))
    key_name, key = _key((f"{stem}_API_KEY",), environ)
    return Endpoint(name, head, model, "litellm", base, key, base or head, key_name, False)


def check_address(base: str, where: str) -> None:
    """Raises ConfigError for an address that is none, or that has a password in it."""
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{where} is no address: {base!r}.", "Write it like https://gateway.example.com/v1.")
    if parts.username or parts.password:
        raise ConfigError(
            f"{where} has credentials in it, which would reach logs.", "Leave them out and set the key in its variable."
        )


def _key(names: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, str | None]:
    """The variable that holds the key and its value. Raises AuthFailed for one that no header can hold."""
    name = next((one for one in names if environ.get(one, "").strip()), names[0])
    key = environ.get(name, "").strip() or None
    if key is not None and not (key.isascii() and key.isprintable()):
        raise AuthFailed(
            f"{name} holds a line break or a letter that no key has.", "Set it again, the key alone on one line."
        )
    return name, key


def base_of(service: Service, environ: Mapping[str, str]) -> str | None:
    """The address the environment gives for a provider; for local ones with scheme, port and `/v1` filled in.

    Raises ConfigError for one that is none.
    """
    given = _first(environ, service.bases)
    if given is None or not service.local:
        return given
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        port = parts.port or (443 if parts.scheme == "https" else service.port)
    except ValueError:
        raise ConfigError(f"{service.bases[0]} is no address: {given!r}.", "Write it like 127.0.0.1:11434.") from None
    host = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else str(parts.hostname)
    host = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{host}:{port}{path if path.endswith('/v1') else path + '/v1'}"


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := environ.get(name, "").strip())), None)
