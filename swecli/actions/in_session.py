"""The declared actions as a running session has them: which there are, and performing one of them there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.actions import builtin
from swecli.config.trust import TrustLedger
from swecli.discovery import find_declared
from swecli.models.action import Action, ActionResult, Face, Family, Need

if TYPE_CHECKING:  # names complete before these are loaded
    from swecli.app import Runtime

_SUBJECTS: Mapping[Need, Callable[[Runtime], object]] = {
    Need.CONTEXT: lambda runtime: runtime,
    Need.ANSWER: lambda runtime: runtime,
    Need.AGENT: lambda runtime: runtime,
    Need.ANY_CONFIGURATION: lambda runtime: runtime.start,
    Need.SETTINGS: lambda runtime: replace(runtime.start, settings=runtime.settings),
    Need.LEARNING: lambda runtime: runtime.learning,
    Need.REFLECTING: lambda runtime: runtime.learning,
    Need.TRUST: lambda runtime: TrustLedger.find(runtime.start.paths),
}
_ON_SESSION = (Need.SESSION, Need.NAMED_SESSION, Need.NEW_SESSION, Need.CONTEXT, Need.ANSWER)


def find_session_actions() -> list[Action | Family]:
    """Return what is a slash command of a session: the families, the actions without one, and those that are commands
    of their own."""
    families = find_declared(builtin, Family)
    members = [action for family in families for action in family.actions]
    return [
        *(family for family in families if family.in_session),
        *(
            action
            for action in find_declared(builtin, Action)
            if action.in_session and action not in members
        ),
        *(action for action in members if action.is_command),
    ]


def works_on_session(declared: Action | Family) -> bool:
    """Return whether an action, or one of a family, works on the session, which another process may have changed."""
    actions = declared.actions if isinstance(declared, Family) else (declared,)
    return any(action.needs in _ON_SESSION for action in actions)


async def perform(
    runtime: Runtime, action: Action, line: str, name: str, face: Face
) -> ActionResult:
    """Perform an action with the rest of a slash line; `name` is the action as it was typed. Raises SwecliError."""
    find_subject = _SUBJECTS.get(action.needs)
    subject = find_subject(runtime) if find_subject else runtime.sessions
    request = action.read(line, name, runtime.cwd)
    return await action.perform(subject, replace(request, face=face))
