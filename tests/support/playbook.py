"""Perform an action on the playbook of a runtime, as a typed line does."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.actions.builtin.playbook import playbook
from swecli.app import Runtime
from swecli.models.action import ActionResult


def perform(runtime: Runtime, name: str, words: Sequence[str] = ()) -> ActionResult:
    """Perform the action of this name. Raises SwecliError."""
    action = playbook.find(name)
    result = action.run(runtime.sessions, action.read(" ".join(words)))
    assert isinstance(result, ActionResult)
    return result
