"""Everything the user can do with the playbook, by name: the REPL and the shell offer exactly this."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.errors import UsageError
from swecli.playbook.action import ActionContext, ActionResult
from swecli.playbook.actions import change, show
from swecli.playbook.actions.names import ACTIONS

_RUN = {
    "list": show.list_all,
    "show": show.show,
    "why": show.why,
    "add": change.add,
    "edit": change.edit,
    "remove": change.remove,
    "undo": change.undo,
    "review": change.review,
}


def perform(ctx: ActionContext, name: str, args: Sequence[str]) -> ActionResult:
    """Do it. Raises UsageError for an unknown action, SwecliError where it cannot be done."""
    if name not in ACTIONS:
        raise UsageError(f"The playbook cannot {name!r:.40}.", f"It knows: {', '.join(ACTIONS)}")
    return _RUN[name](ctx, args)
