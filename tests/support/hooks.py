"""Hooks in tests: declare them, approve them as the user would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swecli.config.settings import Start
from swecli.config.trust import TrustLedger
from swecli.tools.hooks.approved import KnownHook, read_hooks


def declare(
    folder: Path, *entries: tuple[str, str, str], file: str = ".claude/settings.json", **more: Any
) -> Path:
    """Declare hooks, each an event, a matcher and a command; `more` are other keys of each."""
    events: dict[str, list[Any]] = {}
    for event, matcher, command in entries:
        hook = {"type": "command", "command": command, **more}
        events.setdefault(event, []).append({"matcher": matcher, "hooks": [hook]})
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": events}), encoding="utf-8")
    return path


def approve_hooks(start: Start, *, outside: bool = False) -> list[KnownHook]:
    """Approve all hooks of the project as they are, and return them."""
    hooks = [known for known in read_hooks(start).hooks if known.scope == "project"]
    ledger = TrustLedger.find(start.paths)
    for known in hooks:
        ledger.approve_hooks(known.root, {known.hook.name: known.record(outside=outside)})
    return hooks
