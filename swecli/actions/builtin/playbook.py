"""`/playbook` and `swecli playbook`: the learned strategies. What the actions do is in `playbook/actions`."""

from __future__ import annotations

from swecli.models.action import Family
from swecli.playbook.actions.belonging import adopt, separate
from swecli.playbook.actions.change import add, edit, remove, review, undo
from swecli.playbook.actions.show import list_, show, why

playbook = Family(
    "playbook",
    "Show and change learned strategies",
    (list_, show, why, add, edit, remove, undo, review, adopt, separate),
    default="list",
    default_in_shell="list",
    aliases=("strategies",),
)
