"""`/playbook` and `swecli playbook`: the learned strategies. What the actions do is in `playbook/actions`, and
what needs git or a model in `actions`."""

from __future__ import annotations

from swecli.actions.sharing import share, show
from swecli.actions.trial import try_
from swecli.models.action import Family
from swecli.playbook.actions.change import add, edit, remove, review, undo
from swecli.playbook.actions.show import list_, why

playbook = Family(
    "playbook",
    "Show and change learned strategies",
    (list_, show, why, add, edit, remove, undo, review, share, try_),
    default="list",
    default_in_shell="list",
    aliases=("strategies",),
)
