"""`/hooks` and `swecli hooks`: the hooks of the user and the project, and which of them are approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.config.settings import Start


@Action(Need.SETTINGS)
def list_(start: Start, invocation: Invocation) -> ActionResult:
    """The hooks by number, and which of them run"""
    # late: not needed to declare an action
    from swecli.actions.hooks import list_hooks

    return list_hooks(start, invocation.prefix)


@Action(Need.SETTINGS, Words("NUMBER", "of a hook in the list"))
def show(start: Start, invocation: Invocation) -> ActionResult:
    """One hook: its command, where it runs, and the scripts that it names, or what changed in them"""
    # late: as above
    from swecli.actions.hooks import show_hook

    return show_hook(start, invocation)


@Action(
    Need.SETTINGS,
    Words("[NUMBER ...]", "of hooks in the list; default: all that wait"),
    (
        Flag("--outside", "let them run outside the sandbox, as you"),
        Flag("--yes", "approve without a question", in_session=False),
    ),
)
async def approve(start: Start, invocation: Invocation) -> ActionResult:
    """Show what hooks of the project would run, and run them from the next message on"""
    # late: as above
    from swecli.actions.hooks import approve_hooks

    return await approve_hooks(start, invocation)


@Action(Need.SETTINGS)
def withdraw(start: Start, invocation: Invocation) -> ActionResult:
    """Withdraw your approval of all hooks of the project"""
    # late: as above
    from swecli.actions.hooks import withdraw_hooks

    return withdraw_hooks(start)


hooks = Family(
    "hooks",
    "The programs of you and the project that are asked at fixed points of a session, after you approved them",
    (list_, show, approve, withdraw),
    default="list",
    default_in_shell="list",
)
