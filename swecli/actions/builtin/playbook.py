"""`/playbook`, `/good`, `/bad`, `/reflect` and `swecli playbook`: the learned strategies, and what teaches them.
What the actions do is in `playbook/actions`, and what needs git or a model in `actions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.actions.sharing import share, show
from swecli.actions.tidy import tidy
from swecli.actions.trial import try_
from swecli.models.action import SESSION, Action, ActionResult, Family, Invocation, Need, Words
from swecli.playbook.actions.belonging import adopt, separate
from swecli.playbook.actions.change import add, edit, remove, review, undo
from swecli.playbook.actions.show import export, list_, why

promote = Action(
    Need.CONTEXT,
    Words("P-7"),
    in_shell=False,
    name="promote",
    help="Write one into AGENTS.md, with your approval, and retire it",
)

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.playbook.learning.service import LearningService

_REASON = Words("[WHY]", is_text=True)


@Action(Need.LEARNING, _REASON, is_command=True)
async def good(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Mark the last turn good; a model says which strategies helped"""
    # late: not needed to declare an action
    from swecli.actions.learning import mark_turn

    return await mark_turn(learning, invocation, is_good=True)


@Action(Need.LEARNING, _REASON, is_command=True)
async def bad(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Mark the last turn bad; a model says which strategies hurt"""
    # late: as above
    from swecli.actions.learning import mark_turn

    return await mark_turn(learning, invocation, is_good=False)


@Action(
    Need.REFLECTING, Words("[T7|stop]", count="?", shell_name="T7"), (SESSION,), is_command=True
)
async def reflect(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Learn from the last turn, or from turn T7, now; in a session, stop ends that"""
    # late: as above
    from swecli.actions.learning import reflect_on_turn

    return await reflect_on_turn(learning, invocation)


playbook = Family(
    "playbook",
    "Show and change learned strategies",
    (
        list_,
        show,
        why,
        add,
        edit,
        remove,
        undo,
        review,
        tidy,
        promote,
        export,
        adopt,
        separate,
        share,
        try_,
        good,
        bad,
        reflect,
    ),
    default="list",
    default_in_shell="list",
    aliases=("strategies",),
)
