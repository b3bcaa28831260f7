"""Everything the user can do with the playbook, by name: the REPL and the shell offer exactly this."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.errors import UsageError
from swecli.playbook.action import Action, ActionContext, ActionResult
from swecli.playbook.actions import change, show
from swecli.playbook.actions.names import ACTIONS, FORMER

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
    """Do it. Raises UsageError for an unknown action, one of an older version with its new form; SwecliError else."""
    action: Action | None = ACTIONS.get(name)
    if action is None:
        if name in FORMER:
            raise UsageError(f"{name} is now `{ctx.command} {FORMER[name]}`.", f"Use {ctx.command} {FORMER[name]}")
        raise UsageError(f"The playbook cannot {name!r:.40}.", f"It knows: {', '.join(ACTIONS)}")
    return _RUN[name](ctx, args)
