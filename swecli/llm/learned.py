"""What models taught by refusing or answering, in a file that two processes and the next day know."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_VERSION = 1
_KEPT_DAYS = 30  # a feature that was switched off is tried again after that
_TRIED_AGAIN = ("tools", "system_role", "off", "think_back")


class LearnedFacts:
    """The facts in one file, by the origin of a model. A file that is damaged or of a newer version is not used, and
    a newer one is never written."""

    def __init__(self, path: Path, today: float | None = None) -> None:
        self.path, self._now = path, time.time() if today is None else today

    def of(self, origin: str) -> dict[str, Any]:
        """The fields of a model's record that were learned; `off` as a set."""
        known: dict[str, Any] = {}
        off: set[str] = set()
        for field, fact in self._models(self._read() or {}).get(origin, {}).items():
            if not isinstance(fact, dict) or self._old(field, fact):
                continue
            if field.startswith("off."):
                off.add(field[4:])
            else:
                known[field] = fact.get("value")
        return known | ({"off": frozenset(off)} if off else {})

    def learn(self, origin: str, field: str, value: Any, words: str) -> None:
        """Keep one fact with its date and the words that taught it. A file that cannot be written is left alone."""
        with contextlib.suppress(OSError), self._locked():
            whole = self._read()
            if whole is None:
                return
            day = time.strftime("%Y-%m-%d", time.gmtime(self._now))
            fact = {"value": value, "on": day, "at": int(self._now), "words": words}
            self._models(whole).setdefault(origin, {})[field] = fact
            self._write(whole)

    def forget(self, name: str) -> int:
        """Drop what was learned of the models with that word as their name or origin; how many there were."""
        with self._locked():
            whole = self._read() or {}
            models = self._models(whole)
            gone = [origin for origin in models if name == origin or name in origin.split()]
            for origin in gone:
                del models[origin]
            if gone:
                self._write(whole)
        return len(gone)

    def _old(self, field: str, fact: Mapping[str, Any]) -> bool:
        at = fact.get("at")
        fading = field.partition(".")[0] in _TRIED_AGAIN
        return fading and (not isinstance(at, int | float) or self._now - at > _KEPT_DAYS * 86_400)

    def _models(self, whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
        models = whole.get("models")
        if not isinstance(models, dict) or not all(isinstance(facts, dict) for facts in models.values()):
            models = whole["models"] = {}
        return models

    def _read(self) -> dict[str, Any] | None:
        """The file's content, empty where there is none or it is damaged; None for one from a newer swecli."""
        try:
            whole = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {"version": _VERSION, "models": {}}
        if not isinstance(whole, dict) or not isinstance(whole.get("version"), int):
            return {"version": _VERSION, "models": {}}
        return whole if whole["version"] <= _VERSION else None

    def _write(self, whole: Mapping[str, Any]) -> None:
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(whole, out, ensure_ascii=False, indent=1, sort_keys=True)
        fresh.replace(self.path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone with the file, among all processes."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
