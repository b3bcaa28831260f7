"""`swecli learn`: learn from stored sessions. What it does is in `actions/learning`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.playbook.learning.service import LearningService


@Action(
    Need.REFLECTING,
    flags=(
        Flag(
            "--from", "ids, titles, `here` or `all`", "SESSION", takes_words=True, is_required=True
        ),
        Flag("--epochs", "how many passes (default 1)", "K"),
    ),
    in_session=False,
)
async def learn(learning: LearningService, asked: Invocation) -> ActionResult:
    """Learn from stored sessions what reflecting after each turn would have learned, within the same limits"""
    # late: not needed to declare an action
    from swecli.actions.learning import learn_from_sessions

    return await learn_from_sessions(learning, asked)
