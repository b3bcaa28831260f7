"""Turns that leave something out, so that what a strategy is worth can be measured: opt-in, recorded, repeatable."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet

What = Literal["", "off", "withheld"]


@dataclass(frozen=True, slots=True)
class AblationPlan:
    """What is left out, every how many turns: `every` 0 is never. "off": the whole playbook; "one": one strategy."""

    what: Literal["off", "one"] = "off"
    every: int = 0

    @classmethod
    def parse(cls, text: str) -> AblationPlan:
        """`""` or `never`, `off:10`, `one:5`. Raises BadInput for anything else."""
        what, _, number = text.strip().lower().partition(":")
        if what in ("", "never") and not number:
            return cls()
        if what in ("off", "one") and number.isdecimal() and len(number) < 7 and int(number) >= 2:
            return cls("off" if what == "off" else "one", int(number))
        raise BadInput(f"{text!r} is no plan for ablation turns.", "Use never, off:N or one:N, with N from 2.")


@dataclass(frozen=True, slots=True)
class Ablation:
    """What one turn leaves out. `withheld` are the ids that the prompt would have had; `seed` chose among them."""

    what: What = ""
    withheld: tuple[str, ...] = ()
    seed: int = 0

    def shown(self, chosen: Sequence[Bullet]) -> list[Bullet]:
        """What is left of the chosen ones."""
        return [bullet for bullet in chosen if bullet.id not in self.withheld]


def ablate(plan: AblationPlan, interaction: int, chosen: Sequence[Bullet], seed: int) -> Ablation:
    """What a turn leaves out: nothing, unless the plan says that it is this one's turn.

    Args:
        plan: the user's setting.
        interaction: the turn's number among those of all sessions, from 1: many have but one turn.
        chosen: the strategies that would stand in the prompt. Pinned ones are never withheld one by one.
        seed: recorded with the turn; the same seed and strategies withhold the same one.
    """
    if not plan.every or interaction % plan.every or not chosen:
        return Ablation()
    if plan.what == "off":
        return Ablation("off", tuple(bullet.id for bullet in chosen), seed)
    free = sorted((bullet.id for bullet in chosen if bullet.state != "pinned"), key=lambda name: int(name[2:]))
    if not free:
        return Ablation()
    return Ablation("withheld", (random.Random(seed).choice(free),), seed)
