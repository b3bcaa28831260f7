"""The `[models.NAME]` tables that describe a user's own models, and the parsers of their keys. Each parser raises
ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, Literal
from urllib.parse import urlsplit

from swecli.config.parsers import OneOf, boolean, closest_name, integer, list_of, string
from swecli.values import dataclass

_RESERVED_HEADERS = (
    "authorization", "x-api-key", "host", "content-length", "content-type", "transfer-encoding", "connection",
    "accept-encoding",
)  # fmt: skip
_RESERVED_FIELDS = ("model", "messages", "tools", "system", "stream")
_LITERAL_KEYS = ("key", "api_key", "apikey", "token", "secret", "password")
THINKING = ("off", "low", "medium", "high", "xhigh", "max")


def parse_thinking(value: Any) -> str:
    """Parse a reasoning effort: a word, a number of tokens, or "" for the model's default."""
    word = str(value).lower()
    is_word = word in ("", *THINKING)
    is_number = word.isdecimal() and len(word) < 8
    if isinstance(value, bool) or not (is_word or is_number):
        raise ValueError(
            f"unknown effort {value!r:.40} (choose: {', '.join(THINKING)}, or a number of tokens)"
        )
    return word


def parse_base_url(value: Any) -> str:
    """Parse a base URL and strip a trailing slash and endpoint path. Raises ValueError for credentials or a query."""
    address = string(value)
    host = re.sub(r"^\w*:?/*", "", address).partition("/")[0]
    if "@" in host:  # checked first: the other errors show the value
        raise ValueError(
            "contains credentials, which would be logged: set the key in its environment variable"
        )
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not address.isprintable() or " " in address:
        raise ValueError(
            f"is not an address: {address!r} (write it like https://gateway.example.com/v1)"
        )
    if parts.query or parts.fragment:
        raise ValueError(
            "contains a query, but paths are appended to it: leave out everything after the path"
        )
    return re.sub(r"/(chat/completions|responses|v1/messages)$", "", address.rstrip("/"))


def _nonempty_list(description: str) -> Callable[[Any], tuple[str, ...]]:
    parse = list_of(description, str.strip)
    return lambda value: parse(value or None)


def _variable_name(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", str(value), re.ASCII):
        # the value may be a key: not shown
        raise ValueError("takes the name of an environment variable, not a key")
    return str(value)


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("takes a table, for example { name = ... }")
    return value


def parse_headers(value: Any) -> dict[str, str]:
    """Parse the headers that a user may add, by name. Raises ValueError."""
    for name, content in _table(value).items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise ValueError(f"{name!r} is not a header name")
        if name.lower() in _RESERVED_HEADERS:
            raise ValueError(f"{name} cannot be set here; a key comes from key_env or key_command")
        if not isinstance(content, str) or not (content.isascii() and content.isprintable()):
            raise ValueError(f"the value of {name} is not one line of plain text")
    return dict(value)


def _extra_body(value: Any) -> dict[str, Any]:
    reserved = [name for name in _RESERVED_FIELDS if name in _table(value)]
    if reserved:
        raise ValueError(f"{reserved[0]} cannot be set here, swecli sends it")
    # late: few tables have this key
    import json

    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            "contains a value that JSON does not support: a date, a time or an infinite number"
        ) from None
    return dict(value)


def _price(value: Any) -> dict[str, float]:
    table = _table(value)
    if not {"input", "output"} <= set(table) <= {"input", "output", "cache_read", "cache_write"}:
        raise ValueError(
            "takes dollars per million tokens: input and output, also cache_read and cache_write"
        )
    if not all(type(cost) in (int, float) and 0 <= cost < 1e6 for cost in table.values()):
        raise ValueError("takes amounts of dollars, at least 0")
    return {name: float(cost) for name, cost in table.items()}


def _key(parse: Callable[[Any], Any], doc: str, *, in_repr: bool = True) -> Any:
    return field(default=None, repr=in_repr, metadata={"parse": parse, "doc": doc})


_seconds = integer(1, 86_400)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One table `[models.NAME]`; a key that is not set is None. Sizes in tokens, prices in US dollars per million,
    times in seconds."""

    name: str
    api: Literal["openai", "responses", "anthropic", "gemini", "litellm"] | None = _key(
        OneOf("api", ("openai", "responses", "anthropic", "gemini", "litellm")),
        "protocol; without it `model` is provider/name",
    )
    model: str | None = _key(string, "the model's name there; without it the table's own name")
    base_url: str | None = _key(
        parse_base_url, "address; /chat/completions, /responses or /v1/messages is appended"
    )
    key_env: str | None = _key(_variable_name, "environment variable that holds the key")
    key_command: tuple[str, ...] | None = _key(
        _nonempty_list('the words of a command, for example ["pass", "show", "llm/work"]'),
        "command that prints the key, run without a shell, 10 s",
    )
    auth: Literal["bearer", "x-api-key", "api-key"] | None = _key(
        OneOf("auth", ("bearer", "x-api-key", "api-key")),
        "header of the key; without it that of the service or protocol",
    )
    headers: Mapping[str, str] | None = _key(
        parse_headers, "more headers; ${NAME} is a variable's value", in_repr=False
    )
    extra_body: Mapping[str, Any] | None = _key(_extra_body, "more fields of the request's body")
    thinking: str | None = _key(
        parse_thinking, "off, low, medium, high, xhigh, max or a number of tokens"
    )
    context_window: int | None = _key(
        integer(256, 1 << 30), "tokens that request and answer may have together"
    )
    max_output: int | None = _key(integer(1, 1 << 30), "tokens of an answer, at most")
    price: Mapping[str, float] | None = _key(
        _price, "dollars per million tokens: input, output, cache_read, cache_write"
    )
    tools: bool | None = _key(boolean, "whether the model supports tools")
    system_role: bool | None = _key(boolean, "whether the model supports a system message")
    images: bool | None = _key(boolean, "whether the model supports images")
    cache: str | None = _key(
        OneOf("cache", ("none", "prefix", "marks")), "how the service caches prompts"
    )
    first_byte: int | None = _key(_seconds, "seconds without a byte after the request was sent")
    first_token: int | None = _key(_seconds, "seconds without a token while keep-alives come")
    quiet: int | None = _key(_seconds, "seconds without a byte after the first token")
    aliases: tuple[str, ...] | None = _key(
        _nonempty_list('a list of names, for example ["claude"]'), "other names for -m and /model"
    )

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *(self.aliases or ()))


ENTRY_KEYS = {key.name: key.metadata for key in fields(ModelEntry) if key.metadata}


def parse_models(value: Any) -> tuple[ModelEntry, ...]:
    """Parse the tables under `models`. Raises ValueError that names table and key."""
    if value in ((), []):
        return ()
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise ValueError("takes tables, each under its name like [models.work]")
    entries = tuple(_parse_entry(name, table) for name, table in value.items())
    names = [name for entry in entries for name in entry.names]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise ValueError(f"{duplicates[0]!r} names two tables")
    return entries


def _parse_entry(name: str, table: dict[str, Any]) -> ModelEntry:
    heading = f"[models.{name}]"
    values: dict[str, Any] = {}
    if name.strip() != name or not name.isprintable() or not name:
        raise ValueError(f"{heading} is not a model name")

    for key, value in table.items():
        if key.lower() in _LITERAL_KEYS:
            raise ValueError(
                f'{heading} {key}: a key is not kept in a file; use key_env = "NAME" or key_command = [...]'
            )
        if key not in ENTRY_KEYS:
            closest = closest_name(key, ENTRY_KEYS)
            hint = f"did you mean {closest}?" if closest else f"it takes {', '.join(ENTRY_KEYS)}"
            raise ValueError(f"{heading} has no key {key!r} ({hint})")
        try:
            values[key] = ENTRY_KEYS[key]["parse"](value)
        except ValueError as error:
            raise ValueError(f"{heading} {key}: {error}") from None

    if "key_env" in values and "key_command" in values:
        raise ValueError(f"{heading} has key_env and key_command: leave one out")
    if values.get("max_output", 0) > values.get("context_window", 1 << 30):
        raise ValueError(f"{heading} max_output is larger than context_window")
    return ModelEntry(name, **values)
