"""`/cost` and `swecli cost`: what a session has cost, and what its next request will cost at least."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Invocation, Need, Words
from swecli.models.errors import UsageError

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.app import Runtime

NEXT = "next"
BESIDE = "beside"


@Action(
    Need.CONTEXT,
    Words(
        f"[{NEXT} | {BESIDE}]",
        "the price of the next request; in a session, show it beside the prompt or no more",
        "?",
        shell_name=NEXT,
    ),
    aliases=("usage",),
    complete=lambda runtime: [
        (NEXT, "what the next request will cost at least"),
        (BESIDE, "show that beside the prompt, or no more"),
    ],
    during_turn=True,
)
def cost(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Show a session's tokens and cost, by model, cause and tool, and what a full window would have cost"""
    # late: not needed to declare an action
    # late: as above
    from swecli.actions.next_price import price_next
    from swecli.actions.session_cost import format_session

    if invocation.text == NEXT:
        price = price_next(runtime.agent)
        return ActionResult(price.to_json(), price.lines)
    if invocation.words:
        raise UsageError(
            f"{invocation.text!r} is nothing to show.", f"Use {invocation.prefix}cost {NEXT}."
        )
    # late: as above

    return format_session(runtime, shutil.get_terminal_size().columns)
