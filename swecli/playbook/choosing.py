"""What a turn's prompt gets of the playbook: chosen for the query, less what an ablation turn leaves out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.playbook import Bullet, SessionPlaybook
from swecli.playbook.ablation import Ablation, AblationPlan, ablate
from swecli.playbook.score import Standings
from swecli.playbook.select import BUDGET, Candidate, Count, Held, Selection, select


@dataclass(frozen=True, slots=True)
class Chosen:
    """`bullets` stand in the prompt, the best first; `selection` is the thought behind them, before `ablation`."""

    bullets: tuple[Bullet, ...]
    selection: Selection
    ablation: Ablation
    off: bool = False

    def to_json(self, count: Count) -> dict[str, Any]:
        """How it was decided, as plain JSON values."""
        ablation = {"ablation": self.ablation.what, "withheld": list(self.ablation.withheld)}
        return self.selection.to_json(count) | ablation | {"off": self.off}


def choose(
    playbook: SessionPlaybook,
    query: str,
    *,
    standings: Standings,
    count: Count,
    interaction: int,
    seed: int,
    plan: AblationPlan = AblationPlan(),  # noqa: B008 - frozen
    budget: int = BUDGET,
    most: int | None = None,
    held: Held | None = None,
    new: Collection[str] = (),
    ranked: Sequence[Candidate] | None = None,
) -> Chosen:
    """Choose for one turn; nothing while the playbook is off. The same arguments give the same choice.

    Args:
        playbook: what applies here.
        query: the user's.
        standings: what is believed of the strategies, from `standings_of`.
        count: counts the tokens of a text.
        interaction: the turn's number among those of all sessions, from 1.
        seed: chooses what is withheld; it is to be recorded with the turn, as `ablation` says, by `TurnRecords.note`.
        plan: the user's setting.
        budget: tokens of the text, at most.
        most: strategies, at most; None: as many as fit.
        held: what the conversation holds already; None for a new one, or an epoch that begins.
        new: ids of those that the user has just taught.
        ranked: see `select`.
    """
    bullets = [] if playbook.off else list(playbook.bullets.values())
    selection = select(
        bullets,
        query,
        standings=standings,
        count=count,
        budget=budget,
        most=most,
        stale={bullet.id: bullet.stale for bullet in bullets if bullet.stale},
        held=held,
        new=new,
        ranked=None if playbook.off else ranked,
    )
    ablation = ablate(plan, interaction, selection.chosen, seed)
    return Chosen(tuple(ablation.shown(selection.chosen)), selection, ablation, playbook.off)
