"""Where each provider is reached: the variables for its key and address, and how litellm must be called for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from swecli.models.errors import AuthFailed, ModelNotFound

DEMO = "demo"  # the model that needs none of these


@dataclass(frozen=True, slots=True)
class Service:
    """One service. `keys` and `bases` are environment variables, the first that is set wins; `address` is where it
    is when no base is set. A `local` one needs no key and speaks the OpenAI protocol under `/v1`. `default_model` is
    what its key alone means; `aliases` are other names of it."""

    name: str
    keys: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    address: str = ""
    port: int = 0
    default_model: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether it is a server on this machine or network, with no account."""
        return self.port > 0


def _keyed(name: str, address: str, *keys: str, default_model: str = "") -> Service:
    stem = name.upper()
    bases = (f"{stem}_BASE_URL", f"{stem}_API_BASE")
    return Service(name, keys or (f"{stem}_API_KEY",), bases, address, default_model=default_model)


def _local(name: str, port: int, *bases: str, alias: str = "") -> Service:
    stem = name.upper()
    bases = (*bases, f"{stem}_BASE_URL", f"{stem}_API_BASE")
    return Service(name, (f"{stem}_API_KEY",), bases, "", port, aliases=(alias,) if alias else ())


# Local servers go through the OpenAI protocol: litellm's own Ollama route loses finish reasons and broken calls.
LOCAL = (
    _local("ollama", 11434, "OLLAMA_HOST", alias="ollama_chat"),
    _local("lm_studio", 1234, alias="lmstudio"),
    _local("llamacpp", 8080, alias="llama.cpp"),
    _local("vllm", 8000, "HOSTED_VLLM_API_BASE", alias="hosted_vllm"),
)
# default models stand in litellm's local table
KEYED = (
    _keyed("openai", "https://api.openai.com/v1", default_model="openai/gpt-6.1-sol"),
    _keyed("anthropic", "https://api.anthropic.com", default_model="anthropic/claude-sonnet-5-5"),
    _keyed(
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        default_model="gemini/gemini-3.8-flash",
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
    """One model at one address. `route` is litellm's name for it; `base` and `key` are None where litellm finds them
    itself; `address` and `key_name` are for messages."""

    name: str
    provider: str
    model: str
    route: str
    base: str | None
    key: str | None = field(repr=False)
    address: str
    key_name: str
    local: bool


def resolve(name: str, environ: Mapping[str, str]) -> Endpoint:
    """Where `provider/model` is and how to call it.

    Raises:
        ModelNotFound: when the name has no provider or no model in it.
        AuthFailed: when the provider needs a key and no variable holds one; names the variable.
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
    key = _first(environ, service.keys)
    if service.local:
        address = base or f"http://127.0.0.1:{service.port}/v1"
        return Endpoint(name, head, model, f"openai/{model}", address, key or "none", address, service.keys[0], True)
    if key is None and base is None:
        raise AuthFailed(
            f"{service.keys[0]} is not set, so {name} cannot be used.",
            f"Set it (export {service.keys[0]}=…), choose another model with -m, or try -m demo.",
        )
    # with an address of one's own the server may need no key; the client library insists on one
    return Endpoint(name, head, model, name, base, key or "none", base or service.address, service.keys[0], False)


def _unlisted(name: str, head: str, model: str, environ: Mapping[str, str]) -> Endpoint:
    """A provider litellm knows and we do not: it looks for its own variables."""
    stem = head.upper().replace("-", "_")
    base = _first(environ, (f"{stem}_BASE_URL", f"{stem}_API_BASE"))
    key = _first(environ, (f"{stem}_API_KEY",))
    return Endpoint(name, head, model, name, base, key, base or head, f"{stem}_API_KEY", False)


def base_of(service: Service, environ: Mapping[str, str]) -> str | None:
    """The address the environment gives for a provider; for local ones with scheme, port and `/v1` filled in."""
    given = _first(environ, service.bases)
    if given is None or not service.local:
        return given
    parts = urlsplit(given if "://" in given else f"http://{given}")
    host = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else str(parts.hostname)
    host = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/")
    port = parts.port or (443 if parts.scheme == "https" else service.port)
    return f"{parts.scheme}://{host}:{port}{path if path.endswith('/v1') else path + '/v1'}"


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := environ.get(name, "").strip())), None)
