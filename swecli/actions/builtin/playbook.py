"""`/playbook` and `swecli playbook`: the learned strategies. What the actions do is in `playbook/actions`."""

from __future__ import annotations

from swecli.actions.tidy import tidy
from swecli.models.action import Action, Family, Need, Words
from swecli.playbook.actions.change import add, edit, remove, review, undo
from swecli.playbook.actions.show import export, list_, show, why

promote = Action(
    Need.CONTEXT,
    Words("P-7"),
    in_shell=False,
    name="promote",
    help="Write one into AGENTS.md, with your approval, and retire it",
)

playbook = Family(
    "playbook",
    "Show and change learned strategies",
    (list_, show, why, add, edit, remove, undo, review, tidy, promote, export),
    default="list",
    default_in_shell="list",
    aliases=("strategies",),
)
