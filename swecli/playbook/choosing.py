"""What a turn's prompt gets of the playbook: chosen for the query, less what an ablation turn leaves out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.playbook import Bullet, SessionPlaybook
from swecli.models.window import WindowSpec
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

    @property
    def worth(self) -> float:
        """The scores of all that were chosen."""
        return sum(candidate.score for candidate in self.selection.candidates if candidate.chosen)

    def to_json(self, count: Count) -> dict[str, Any]:
        """How it was decided, as plain JSON values."""
        ablation = {"ablation": self.ablation.what, "withheld": list(self.ablation.withheld)}
        return self.selection.to_json(count) | ablation | {"off": self.off}


HEAD = 2 / 3  # of the budget that a head takes when there is more than fits: the rest is for the turns to come
MISSED = 1 / 2  # of the worth of a query's strategies that may be missing before that is too little


def for_head(pick: Callable[[int], Chosen], budget: int, window: WindowSpec) -> Chosen:
    """What a head gets: as much as fits into the budget, or into its part of it when more would fit the query.

    An exact window begins an epoch with every turn, and leaves nothing to later ones; nor does a head whose part would
    leave out something pinned, or hold less than half of the worth.

    Args:
        pick: chooses within so many tokens.
    """
    whole = pick(budget)
    if not whole.selection.crowded_out or (window.mode == "fixed" and not window.slack):
        return whole
    part = pick(int(budget * HEAD))
    pinned = any(candidate.bullet.state == "pinned" for candidate in part.selection.crowded_out)
    return whole if pinned or part.worth < MISSED * whole.worth else part


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
