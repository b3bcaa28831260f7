"""The capability record of a model at an address, each field with its layer; facts learned from refusals; and the file
that keeps these facts for other processes and later runs."""

from __future__ import annotations

import fcntl
import json
import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from swecli.config.model_entry import ModelEntry
from swecli.config.paths import Paths, write_file
from swecli.llm.endpoints import Endpoint
from swecli.llm.price_table import Row, cost_of, sizes_of
from swecli.models.errors import BadInput
from swecli.models.message import Usage

_Thinking = Literal["none", "budget", "adaptive", "always", "effort"]
# how reasoning is sent back: never · in its own field · on every message, also empty · signed · bound to the prefix
_Wire = Literal["chat", "responses"]  # of OpenAI's two
_ThinkBack = Literal["never", "as it came", "with calls", "signed", "bound"]
_RESPONSES = "/v1/responses"
_NATIVE_RESPONSES = ("openai", "azure", "xai")
_SMALL_WINDOW_CAP = 8_192
_FLAGS = {
    "tools": "supports_function_calling",
    "system_role": "supports_system_messages",
    "images": "supports_vision",
    "schemas": "supports_response_schema",
}
_PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
_VERSION = 1
_EXPIRY_SECONDS = 30 * 86_400  # a switched-off feature is tried again after 30 days
_KEPT = {
    "max_output": int,
    "limit_name": str,
}  # facts that do not expire, with the type of their values
_FACT_TYPES = _KEPT | {
    "think_back": str,
    "wire": str,
    "system_role": bool,
    "images": bool,
    "off": bool,
}
# not kept: a service that refuses tools by mistake or for an hour must not take them for longer than this session
_THIS_SESSION = ("tools",)
_EVERYDAY = ("default", "minimum", "maximum")  # words that a refusal of something else has too
_SCHEMA_FIELDS = (
    "additionalProperties", "minLength", "maxLength", "minItems", "maxItems", *_EVERYDAY,
)  # fmt: skip
# request fields that can be left out
_FIELDS = (
    "stream_options", "response_format", "cache_control", "reasoning_effort", "thinking", "output_config", "stream",
    "include", "reasoning", "store", *_SCHEMA_FIELDS,
)  # fmt: skip
_WORDS = re.IGNORECASE | re.ASCII
_LENGTH = r"(?<![\w.])max(completion|output)?tokens(?!\w)|max(imum)? tokens (you|must)"
_WINDOW = "context ?(length|size|limit)|context window|maxmodellen"
_AT_MOST = (
    r"(?:at most|maximum(?: allowed)?(?: value)?(?: is| of|:)?|less than or equal to|<=|supports up to|>|limit of|\[\d)"
    r"\s*`?(\d{2,8})"
)
# another field (without underscores), an endpoint, or a number that is no status
_BESIDE_TOOLS = (
    r"\b(reasoningeffort|reasoning|thinking|stream(ing)?|parallel|responseformat)\b|"
    r"/(chat/completions|responses|messages)\b|(?<![\w.:/-])(?![45]\d\d\b)\d+(?![\w.:/-])"
)
_LEFT_OUT = "{} does not accept {}: left out from now on"
# what refusals reveal, in this order: fact, its value, what the request must contain (JSON), the words of the refusal
# behind the name of the field (without underscores), and the notice
_THINKING_REFUSALS: tuple[tuple[str, Any, str, str, str], ...] = (
    ("think_back", "with calls", "",  # what is extra may be quoted
     "^(?!.*extra)(?=.*reasoningcontent).*(missing|required|must be (passed|provided|included)|(?<!un)expected)", ""),
    ("think_back", "never", '"reasoning_content"', "reasoningcontent", ""),
    ("off.include", True, '"include": ', "encrypted content is not supported", ""),
    ("off.display", True, '"display": "summarized"', r"\bdisplay\b", ""),
    ("off.reasoning.summary", True, '"summary": "auto"', r"reasoning\.summary|reasoning summar(y|ies)", ""),
    ("blocks", None, '"encrypted_content": "',
     "encrypted ?content|'reasoning' was provided|items are not persisted",
     "{} rejected its own reasoning: left out of this request"),
    ("blocks", None, '"(signature|redacted_thinking|reasoning_details)"',
     "signature|thinking`? blocks?|bound to a different conversation|reasoningdetails",
     "{} rejected its own reasoning: left out of this request"),
)  # fmt: skip
_OTHER_REFUSALS: tuple[tuple[str, Any, str, str, str], ...] = (
    ("off.reasoning_effort", True, '"reasoning_effort"', "not support (thinking|reasoning)|think value",  # Ollama
     _LEFT_OUT.format("{}", "reasoning_effort")),
    ("images", False, '"image(_url)?"',
     "((not|n't|that) support|unknown variant|at most 0).{0,40}(image|vision|multimodal)|"
     "(image|vision).{0,40}(not|only) (support|enabled)|not a multimodal|content must be a string",
     "{} does not support images: left out from now on"),
    ("off.null content", True, '"content": null', "content.{0,80}(null|nil|string)", ""),
    ("off.text with calls", True, "", "content or toolcalls, but not both", ""),
    ("off.stream", True, '"stream": true',
     r"not (be )?support(ed)?\b.{0,60}\bstream(ing)?\b|n't support.{0,60}\bstream(ing)?\b|"
     r"\bstream(ing)?\b.{0,40}\bnot supported", _LEFT_OUT.format("{}", "stream")),
    ("tools", False, '"tools": ',
     r"do(es)?( not|n't) support (tools|tool use|tool calling|function)|tool(s param| choice) requires|"
     r"no endpoints found that support tool|"
     r"(unknown|unrecognized|unsupported|unexpected|extra)\b.{0,60}\btools\b(?![\[.])|"
     r"(tools?(?![\[.])|function calling)\b.{0,40}\bnot (supported|permitted|allowed|enabled)",
     "{} does not support tools: it can answer, not act"),
    ("system_role", False, r'"role": "system"|"system": \[',
     r"system\W{0,2} ?(role|messages?|prompt|instruction)?.{0,40}(not supported|unsupported|not allowed|not enabled)|"
     r"(does|do) not support.{0,20}\bsystem\b|system message must be|(must|should) alternate|unexpected role .?system|"
     "developer instruction is not enabled|only user and assistant roles", ""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """A model's capabilities; sizes in tokens, None if unknown. `limit_name` is the field of the answer's length,
    `efforts` are its thinking levels. `off` are request fields that it refuses. `price` has the keys of
    litellm's table, in US dollars per token. `encoding` names its closest tiktoken encoding. `offline` models use no
    network; with `estimates` its usage is estimated. With `schemas` the service keeps an answer to a JSON schema, with
    `reports_cost` it sends the cost of each request. `origins` maps each field to its layer."""

    window: int | None = None
    max_output: int | None = None
    tools: bool = True
    system_role: bool = True
    limit_name: str = "max_tokens"
    thinking: _Thinking = "none"
    efforts: tuple[str, ...] = ()
    think_back: _ThinkBack = "as it came"
    wire: _Wire = "chat"
    images: bool = False
    schemas: bool = False
    cache: Literal["none", "prefix", "marks"] = "prefix"
    off: frozenset[str] = frozenset()
    price: Row = field(default_factory=dict)
    encoding: str = "o200k_base"
    offline: bool = False
    estimates: bool = False
    reports_cost: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        at: Endpoint,
        row: Row | None,
        probed: Mapping[str, Any],
        facts: LearnedFacts | None = None,
        entry: ModelEntry | None = None,
        layer: str = "table",
    ) -> Profile:
        """Build a model's record from its layers: litellm's table (or a row that is guessed, as `layer` says), a probe,
        learned facts and configuration."""
        known = _from_table(row, at)
        origins = dict.fromkeys(known.pop("found"), layer)
        profile = cls(**known, origins=origins).layered(probed, "probe")
        if entry and entry.api:
            profile = profile.layered(
                {"wire": "responses" if entry.api == "responses" else "chat"}, "config"
            )
        profile = profile.layered(facts.of(at.origin) if facts else {}, "learned")
        return profile.layered(_from_entry(entry) if entry else {}, "config")

    def reserve(self, max_tokens: int | None = None) -> int:
        """Return the tokens reserved for an answer: the user's setting, else a cap, at most a quarter of the window."""
        if max_tokens:
            return max_tokens
        window = self.window or 0
        cap = 32_000 if window >= 200_000 else 16_000 if window >= 64_000 else _SMALL_WINDOW_CAP
        return max(1, min(self.max_output or cap, cap, window // 4 if window else cap))

    def is_priced(self) -> bool:
        """Return whether the cost of every request will be known."""
        any_request = Usage(1, 1, 1, 1, 1)
        return self.offline or self.reports_cost or cost_of(any_request, self.price) is not None

    def dollars_per_million(
        self, name: Literal["input", "output", "cache_read", "cache_write"]
    ) -> float | None:
        """Return the price of a million tokens of this kind in US dollars, None if it is unknown."""
        price = self.price.get(_PRICES[name])
        return round(price * 1e6, 6) if isinstance(price, int | float) else None

    def effort(self, wish: str) -> str:
        """Map a requested thinking level or token budget to one that the model accepts."""
        if wish.isdecimal():
            wish = "low" if int(wish) <= 2_048 else "medium" if int(wish) <= 8_192 else "high"
        if wish == "off":
            return "none" if "none" in self.efforts else "low"
        if wish == "max":
            return self.efforts[-1] if self.efforts else "high"
        return wish

    def fact_from_refusal(
        self, name: str, body: Mapping[str, Any], param: str, words: str, own: Collection[str] = ()
    ) -> tuple[str, Any, str] | None:
        """Return what a refusal reveals about model `name`: the profile field to change, its value, and a notice for
        the user ("" for none); None if it names nothing that can be left out. The pseudo-field `blocks` drops the
        opaque blocks of this conversation. `param` is the field named by the error object, `own` are fields from the
        user's `extra_body`."""
        text, sent, longest = (
            f"{param}: {words}".replace("_", ""),
            json.dumps(body),
            body.get("max_output_tokens", body.get(self.limit_name)),
        )
        if (
            isinstance(longest, int)
            and re.search(_LENGTH, text, _WORDS)
            and not re.search(_WINDOW, text, _WORDS)
        ):
            found = [
                int(size) for size in re.findall(_AT_MOST, text.replace(",", ""), re.IGNORECASE)
            ]
            if smaller := [size for size in found if size < longest]:
                return "max_output", max(smaller), ""
            if "max_output_tokens" in body:
                return None
            return (
                "limit_name",
                "max_completion_tokens" if self.limit_name == "max_tokens" else "max_tokens",
                "",
            )
        fields = [
            (
                f"off.{left}",
                True,
                re.escape(json.dumps(left)),
                _names_field(left),
                _LEFT_OUT.format("{}", left),
            )
            for left in (*_FIELDS, *own)
            if left in body or left in ("cache_control", *_SCHEMA_FIELDS)
        ]
        for fact, value, contains, pattern, notice in (
            *_THINKING_REFUSALS,
            *fields,
            *_OTHER_REFUSALS,
        ):
            if not (re.search(contains, sent) and re.search(pattern, text, _WORDS)):
                continue
            if fact == "tools" and _names_more_than_tools(text, name):
                return None
            said = f" ({words})" if value is False and notice else ""
            return fact, value, notice.replace("{}", name) + said
        return None

    def layered(self, values: Mapping[str, Any], layer: str) -> Profile:
        """Return a copy with the values of a higher layer; unknown fields and None are skipped."""
        known = {
            name: value
            for name, value in values.items()
            if name in self.__slots__ and value is not None
        }
        if "off" in known:
            known["off"] = self.off | known["off"]
        return replace(self, **known, origins={**self.origins, **dict.fromkeys(known, layer)})


def _names_field(name: str) -> str:
    """Return the pattern for a refusal, without underscores, that names a field; an everyday word stands in quotes."""
    plain = re.escape(name.replace("_", ""))
    return rf"[\"'`.]{plain}[\"'`]" if name in _EVERYDAY else rf"(?<![\w.]){plain}(?!\w)"


def _names_more_than_tools(text: str, model: str) -> bool:
    """Return whether a refusal is about tools together with a field, at an endpoint, or above a number: then the model
    has tools."""
    return bool(re.search(_BESIDE_TOOLS, text.replace(model.replace("_", ""), "the model"), _WORDS))


def _from_table(row: Row | None, at: Endpoint) -> dict[str, Any]:
    """Return the record's fields from a row of litellm's table, with the provider's defaults for missing ones."""
    row, anthropic, openai = row or {}, at.api == "anthropic", at.provider == "openai"
    known: dict[str, Any] = {
        name: row[key] for name, key in _FLAGS.items() if isinstance(row.get(key), bool)
    }
    window, max_output = sizes_of(row)
    known |= {"window": window} if window else {}
    known |= {"max_output": max_output} if max_output else {}
    if at.local and not known.get("tools", True):  # the server's build of the model may: ask it
        del known["tools"]
    thinks, always = bool(row.get("supports_reasoning")), bool(row.get("thinking_always_on"))
    newest: _Thinking = (
        "always" if always else "adaptive" if row.get("supports_adaptive_thinking") else "budget"
    )
    more = tuple(word for word in ("xhigh", "max") if row.get(f"supports_{word}_reasoning_effort"))
    kin = at.provider in ("deepseek", "moonshot") or any(
        word in at.model.lower() for word in ("deepseek", "kimi")
    )
    back: _ThinkBack = "with calls" if kin and (thinks or not row) else "as it came"
    if anthropic:
        back = "bound" if always else "signed"
    old = at.model in ("gpt-4", "gpt-4-32k") or at.model.startswith(("gpt-3.5", "gpt-4-"))
    return dict(
        **known,
        limit_name="max_completion_tokens"
        if openai and (at.base is None or thinks)
        else "max_tokens",
        thinking="none" if not thinks else newest if anthropic else "effort",
        efforts=("low", "medium", "high", *more),
        think_back=back,
        wire="responses" if at.api == "responses" or _uses_responses(row, at) else "chat",
        cache="marks"
        if anthropic or at.origin.startswith("openrouter") and "anthropic/" in at.model
        else "prefix",
        price={"input_cost_per_token": 0.0, "output_cost_per_token": 0.0} if at.local else row,
        encoding="cl100k_base" if old else "o200k_base",
        reports_cost="openrouter" in f"{at.provider} {at.address}",
        found=[*known, *(["price"] if _has_price(row) else ())],
    )


def _has_price(row: Row) -> bool:
    return any(key in row for key in _PRICES.values())


def _uses_responses(row: Row, at: Endpoint) -> bool:
    """Return whether a model of the table is asked over the Responses API: the current ones of OpenAI refuse tools over
    chat completions."""
    if at.provider not in _NATIVE_RESPONSES or (at.provider == "azure" and not at.has_key):
        return False
    offered = row.get("supported_endpoints") or ()
    return row.get("mode") == "responses" or (
        at.provider != "xai" and bool(row.get("supports_reasoning")) and _RESPONSES in offered
    )


def _from_entry(entry: ModelEntry) -> dict[str, Any]:
    """Return the record's fields that the user's `[models]` entry sets."""
    price = {_PRICES[name]: dollars / 1e6 for name, dollars in (entry.price or {}).items()}
    same = {
        name: getattr(entry, name)
        for name in ("max_output", "tools", "system_role", "images", "cache")
    }
    return {"window": entry.context_window, "price": price or None, **same}


class LearnedFacts:
    """Learned facts in one JSON file, by model origin. A damaged file counts as empty; one of a newer version is not
    used or changed."""

    def __init__(self, path: Path, today: float | None = None) -> None:
        self._path, self._now = path, time.time() if today is None else today

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> LearnedFacts:
        """Return the facts of this user."""
        return cls(Paths.find(environ).state / "models.json")

    def of(self, origin: str) -> dict[str, Any]:
        """Return the learned profile fields of a model, without expired ones; `off` as a set."""
        oldest, known = _iso_date(self._now - _EXPIRY_SECONDS), {}
        for name, fact in (self._read() or {}).get(origin, {}).items():
            kind, value = (
                name.partition(".")[0],
                fact.get("value") if isinstance(fact, dict) else None,
            )
            if type(value) is _FACT_TYPES.get(kind) and (
                kind in _KEPT or str(fact.get("on")) >= oldest
            ):
                known[name] = value
        off = frozenset(name[4:] for name in known if name.startswith("off."))
        return {name: value for name, value in known.items() if "." not in name} | (
            {"off": off} if off else {}
        )

    def learn(self, origin: str, field: str, value: Any, words: str) -> None:
        """Store one fact with its date and the refusal's message, unless it holds for this session only; silently
        skipped if the file cannot be written."""
        if field in _THIS_SESSION:
            return
        with suppress(OSError), self._locked_update() as models:
            models.setdefault(origin, {})[field] = {
                "value": value,
                "on": _iso_date(self._now),
                "words": words,
            }

    def forget(self, name: str) -> int:
        """Delete all facts of models with this name or origin; return how many models. Raises BadInput for a file of a
        newer version."""
        if self._read() is None:
            raise BadInput(
                f"{self._path} was written by a newer swecli: it is neither used nor changed."
            )
        with self._locked_update() as models:
            gone = [origin for origin in models if name == origin or name in origin.split()]
            for origin in gone:
                del models[origin]
        return len(gone)

    def _read(self) -> dict[str, dict[str, Any]] | None:
        """Return the facts by origin, {} if the file is missing or damaged, None if it is of a newer version."""
        try:
            whole = json.loads(self._path.read_bytes())
            models = {origin: dict(facts) for origin, facts in whole["models"].items()}
            return None if whole["version"] > _VERSION else models
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return {}

    @contextmanager
    def _locked_update(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the facts under an exclusive file lock, and write them back."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.with_name(f"{self._path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            models = self._read()
            yield {} if models is None else models
            if models is not None:
                whole = {"version": _VERSION, "models": models}
                write_file(
                    self._path, json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True)
                )


def _iso_date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
