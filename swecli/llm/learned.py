"""What a refusal teaches of a model, by its words and by what was sent; and the file in which two processes and the
next day know it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_VERSION = 1
_KEPT = 30 * 86_400  # seconds: a feature that was switched off is tried again after that
_TRIED_AGAIN = ("tools", "system_role", "off", "think_back")
# what may be left out of a body, as services call it
_FIELDS = (
    "stream_options", "parallel_tool_calls", "temperature", "top_p", "top_k", "cache_control", "prompt_cache_key",
    "reasoning_effort", "thinking", "output_config", "tool_choice", "stream",
)  # fmt: skip
_NO_TOOLS = re.compile(
    r"(does|do) not support (tools|tool use|tool calling|function)|tool choice requires|"
    r"no endpoints found that support tool|(unknown|unrecognized|unsupported|unexpected|extra)\b.{0,60}\btools\b|"
    r"tools?\b.{0,40}\bnot (supported|permitted|allowed)",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system\W{0,2} ?(role|messages?|prompt|instruction)?.{0,40}(not supported|unsupported|not allowed|not enabled)|"
    r"(does|do) not support.{0,20}\bsystem\b|system message must be|roles must alternate|unexpected role .?system|"
    r"developer instruction is not enabled|only user and assistant roles",
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    r"(?:at most|maximum(?: allowed)?(?: value)?(?: is| of|:)?|less than or equal to|<=|supports up to|>)"
    r"\s*`?(\d{2,8})",
    re.IGNORECASE,
)
_BOUND = re.compile(r"signature|thinking`? blocks?|bound to a different conversation|reasoning_details", re.IGNORECASE)
_MISSING = re.compile(r"missing|required|must be (passed|provided|included)|(?<!un)expected", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One field of a model's record that a refusal changes. `notice` is for the user, "" for none. Field `blocks` is
    not of the record: opaque parts are left out of this conversation."""

    field: str
    value: Any
    notice: str = ""


def lesson_of(
    name: str, body: Mapping[str, Any], limit_name: str, param: str, words: str, own: Collection[str] = ()
) -> Lesson | None:
    """What a refusal teaches of the model `name`; None where it names nothing that can be left out.

    `param` is the field that the error object names, `own` are fields that the user's configuration put in.
    """
    lower = words.lower()

    def about(field: str) -> bool:
        named = re.search(rf"(?<![\w.]){re.escape(field.lower())}(?![\w])", lower)
        return param == field or param.startswith(f"{field}.") or named is not None

    if limit_name in body and (about("max_tokens") or about("max_completion_tokens")) and "context" not in lower:
        figures = [int(found) for found in _AT_MOST.findall(lower.replace(",", "")) if int(found) < body[limit_name]]
        other = "max_completion_tokens" if limit_name == "max_tokens" else "max_tokens"
        return Lesson("max_output", max(figures)) if figures else Lesson("limit_name", other)
    sent = json.dumps(body.get("messages", []))
    if about("reasoning_content") and _MISSING.search(lower) and '"reasoning_content"' not in sent:
        return Lesson("think_back", "with calls")
    if about("reasoning_content") and not _MISSING.search(lower) and '"reasoning_content"' in sent:
        return Lesson("think_back", "never")
    opaque = any(f'"{kind}"' in sent for kind in ("signature", "redacted_thinking", "reasoning_details"))
    if opaque and _BOUND.search(words):
        return Lesson("blocks", None, f"{name} did not take back its own thoughts: left out of this request")
    for field in (*_FIELDS, *own):
        there = field in body or (field == "cache_control" and '"cache_control"' in json.dumps(body))
        if there and about(field):
            return Lesson(f"off.{field}", True, f"{name} does not take {field}: left out from now on")
    if "tools" in body and (param == "tools" or _NO_TOOLS.search(words)):
        return Lesson("tools", False, f"{name} takes no tools: it can answer, not act")
    system = "system" in body or any(message.get("role") == "system" for message in body.get("messages", ()))
    return Lesson("system_role", False) if system and _NO_SYSTEM.search(words) else None


class LearnedFacts:
    """The facts in one file, by the origin of a model. A file that is damaged or of a newer version is not used, and
    a newer one is never written."""

    def __init__(self, path: Path, today: float | None = None) -> None:
        self._path, self._now = path, time.time() if today is None else today

    def of(self, origin: str) -> dict[str, Any]:
        """The fields of a model's record that were learned; `off` as a set."""
        oldest, known = _day(self._now - _KEPT), {}
        for field, fact in (self._read() or {}).get(origin, {}).items():
            fading = field.partition(".")[0] in _TRIED_AGAIN
            if isinstance(fact, dict) and not (fading and str(fact.get("on")) < oldest):
                known[field] = fact.get("value")
        off = frozenset(field[4:] for field in known if field.startswith("off."))
        return {name: value for name, value in known.items() if "." not in name} | ({"off": off} if off else {})

    def learn(self, origin: str, field: str, value: Any, words: str) -> None:
        """Keep one fact with its date and the words that taught it. A file that cannot be written is left alone."""
        with contextlib.suppress(OSError), self._changing() as models:
            models.setdefault(origin, {})[field] = {"value": value, "on": _day(self._now), "words": words}

    def forget(self, name: str) -> int:
        """Drop what was learned of the models with that word as their name or origin; how many there were."""
        with self._changing() as models:
            gone = [origin for origin in models if name == origin or name in origin.split()]
            for origin in gone:
                del models[origin]
        return len(gone)

    def _read(self) -> dict[str, dict[str, Any]] | None:
        """The facts by origin, none where the file is missing or damaged; None for one from a newer swecli."""
        try:
            whole = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        version = whole.get("version") if isinstance(whole, dict) else None
        if not isinstance(version, int) or version > _VERSION:
            return None if isinstance(version, int) else {}
        models = whole.get("models")
        return models if isinstance(models, dict) and all(isinstance(one, dict) for one in models.values()) else {}

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, Any]]]:
        """The facts, alone among all processes; what was changed is written."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._path.with_name(f"{self._path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            models = self._read()
            yield models if models is not None else {}
            if models is None:
                return
            fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
                json.dump({"version": _VERSION, "models": models}, out, ensure_ascii=False, indent=1, sort_keys=True)
            fresh.replace(self._path)
        finally:
            os.close(lock)


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
