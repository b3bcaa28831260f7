"""`/playbook tidy`: one request to a model about the whole playbook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Invocation, Need
from swecli.models.events import to_json
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed

if TYPE_CHECKING:
    from swecli.app import Runtime


@Action(Need.ANSWER)
async def tidy(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Ask a model once which say the same or no longer hold, and drop what is not yours"""
    with invocation.face.working("Tidying the playbook"):
        events = await runtime.learning.tidy()
    value = [to_json(event) for event in events]
    failures = [event for event in events if isinstance(event, ReflectionFailed)]
    updates = [event for event in events if isinstance(event, PlaybookUpdated)]
    if failures:
        return ActionResult(value, (f"Not tidied: {failures[0].reason}.",), code=1)
    lines = [line for event in updates for line in event.lines]
    refusals = [f"  not applied: {line}" for event in updates for line in event.refused]
    if not lines:
        return ActionResult(value, ("Nothing to tidy.", *refusals))
    command = f"{invocation.prefix}playbook"
    hint = f"`{command} undo` takes it back, `{command} review` asks what only you decide."
    return ActionResult(value, (*lines, *refusals), note=hint)
