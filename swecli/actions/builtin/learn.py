"""`swecli learn`: learn from sessions, other programs and commits. What it does is in `actions/learning` and
`actions/moving_in`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.playbook.learning.service import LearningService


@Action(
    Need.REFLECTING,
    flags=(
        Flag(
            "--from",
            "sessions (ids, titles, `here`, `all`), or one of claude, codex, qwen, copilot, git, a folder",
            "SOURCE",
            takes_words=True,
            is_required=True,
        ),
        Flag("--epochs", "how many passes (default 1)", "K"),
    ),
    in_session=False,
)
async def learn(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Learn from stored sessions, from the memory of another program, or from commits

    Of sessions it learns what reflecting after each turn would have learned, within the same limits; of the others it
    makes proposals.
    """
    # late: not needed to declare an action
    from swecli.actions.learning import learn_from_sessions
    from swecli.actions.moving_in import find_others, learn_from_others

    if find_others(invocation.flags["--from"], invocation.folder):
        return await learn_from_others(learning, invocation)
    return await learn_from_sessions(learning, invocation)
