"""What refusals have taught about models: what a model lacks for this session, how it is asked in a file."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths
from swecli.config.private_files import write_file
from swecli.models.errors import BadInput

_VERSION = 1
LEFT_OUT = "off."  # before the name of a request field that is left out: `off.stream`


class LearnedFacts:
    """Learned facts by model origin. Those that `is_kept` are in a JSON file, the others end with this object. A
    damaged file counts as empty; one of a newer version is not used or changed."""

    def __init__(self, path: Path, now: float | None = None) -> None:
        self._path = path
        self._now = time.time() if now is None else now
        self._session: dict[str, dict[str, Any]] = {}

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> LearnedFacts:
        """Return the facts of this user: in one process always the same object, so that a model that is chosen again
        is not asked in vain again."""
        return _facts_in(Paths.find(environ).state / "models.json")

    def fields_of(self, origin: str) -> dict[str, Any]:
        """Return the learned fields of a model's `Profile`; request fields that are left out are one set: after
        `off.stream` was learned, `{"off": frozenset({"stream"})}`."""
        facts: dict[str, Any] = {}
        for field, fact in (self._read() or {}).get(origin, {}).items():
            value = fact.get("value") if isinstance(fact, dict) else None
            if is_kept(field, value):
                facts[field] = value
        facts |= self._session.get(origin, {})

        fields = {name: value for name, value in facts.items() if not name.startswith(LEFT_OUT)}
        left_out = [name.removeprefix(LEFT_OUT) for name in facts if name.startswith(LEFT_OUT)]
        if left_out:
            fields["off"] = frozenset(left_out)
        return fields

    def learn(self, origin: str, field: str, value: Any, words: str) -> None:
        """Remember one fact; one that is kept goes to the file with its date and the refusal's message. Silently
        skipped if the file cannot be written."""
        if not is_kept(field, value):
            self._session.setdefault(origin, {})[field] = value
            return
        fact = {"value": value, "on": _iso_date(self._now), "words": words}
        with suppress(OSError), self._locked_update() as models:
            models.setdefault(origin, {})[field] = fact

    def forget(self, name: str) -> int:
        """Delete all stored facts of models with this name or origin; return how many models. Raises BadInput for a
        file of a newer version."""
        if self._read() is None:
            raise BadInput(
                f"{self._path} was written by a newer swecli: it is neither used nor changed."
            )
        with self._locked_update() as models:
            forgotten = [origin for origin in models if name == origin or name in origin.split()]
            for origin in forgotten:
                del models[origin]
        return len(forgotten)

    def _read(self) -> dict[str, dict[str, Any]] | None:
        """Return the facts by origin, {} if the file is missing or damaged, None if it is of a newer version."""
        try:
            document = json.loads(self._path.read_bytes())
            models = {origin: dict(facts) for origin, facts in document["models"].items()}
            return None if document["version"] > _VERSION else models
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return {}

    @contextmanager
    def _locked_update(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the facts under an exclusive file lock, and write them back."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.with_name(f"{self._path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            models = self._read()
            if models is None:
                yield {}  # of a newer version: what is changed in it is not written
                return
            yield models
            document = {"version": _VERSION, "models": models}
            text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
            write_file(self._path, text)


def is_kept(field: str, value: Any) -> bool:
    """Return whether a fact outlives the session: it says how a model is asked, and takes nothing away. A service may
    refuse tools or thinking by mistake or for an hour; the next session asks again."""
    if field == "max_output":
        return type(value) is int and value > 0
    if field == "limit_name":
        return value in ("max_tokens", "max_completion_tokens")
    if field == "wire":
        return bool(value == "responses")
    return field == "filler" and value == " "


@cache
def _facts_in(path: Path) -> LearnedFacts:
    return LearnedFacts(path)


def _iso_date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
