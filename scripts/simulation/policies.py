"""The ways to choose bullets that are compared: each sees tags and outcomes, and says what it would show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from scripts.simulation.world import World
from swecli.playbook.score import Belief, Outcome, Standings, after

HALF_LIFE = 0.98  # the decayed Beta's counts keep this share with each tag


class Policy(Protocol):
    """What a way to choose has to answer. `worth` ranks all bullets, for the figures; higher is better."""

    name: str

    def allows(self, bullet_id: str, turn: int) -> bool:
        """Whether it may be shown."""

    def worth(self, bullet_id: str, turn: int) -> float:
        """How good it is held to be."""

    def learn(self, outcome: Outcome) -> None:
        """Take in a turn."""


class Nothing:
    """No playbook."""

    name = "no playbook"

    def allows(self, bullet_id: str, turn: int) -> bool:
        """Never."""
        return False

    def worth(self, bullet_id: str, turn: int) -> float:
        """The same for all."""
        return 0.0

    def learn(self, outcome: Outcome) -> None:
        """Nothing."""


class Oracle(Nothing):
    """Knows the truth."""

    name = "oracle"

    def __init__(self, world: World) -> None:
        self.world = world

    def allows(self, bullet_id: str, turn: int) -> bool:
        """What really helps."""
        return self.world.effect(bullet_id, turn) > 0

    def worth(self, bullet_id: str, turn: int) -> float:
        """The true effect."""
        return self.world.effect(bullet_id, turn)


class NetCount(Nothing):
    """Ranks by helpful minus harmful tags, as most playbooks do."""

    name = "net count"

    def __init__(self) -> None:
        self.helpful: dict[str, float] = {}
        self.harmful: dict[str, float] = {}

    def allows(self, bullet_id: str, turn: int) -> bool:
        """Always: a low count only ranks it last."""
        return True

    def worth(self, bullet_id: str, turn: int) -> float:
        """Helpful minus harmful."""
        return self.helpful.get(bullet_id, 0.0) - self.harmful.get(bullet_id, 0.0)

    def learn(self, outcome: Outcome) -> None:
        """Count the tags."""
        for citation in outcome.cited:
            counts = {"helpful": self.helpful, "harmful": self.harmful}.get(citation.tag or "")
            if counts is not None:
                counts[citation.bullet_id] = counts.get(citation.bullet_id, 0.0) + 1


class GatedNetCount(NetCount):
    """The same behind swecli's gate: tells what the gate alone is worth."""

    name = "net count, gated"

    def __init__(self, active: Iterable[str]) -> None:
        super().__init__()
        self.active = frozenset(active)

    def allows(self, bullet_id: str, turn: int) -> bool:
        """What is active."""
        return bullet_id in self.active


class HarmfulPruned(NetCount):
    """Ranks by net count and drops what was called harmful at least as often as helpful."""

    name = "harmful >= helpful"

    def allows(self, bullet_id: str, turn: int) -> bool:
        """Until the harmful tags have caught up."""
        harmful = self.harmful.get(bullet_id, 0.0)
        return not harmful or harmful < self.helpful.get(bullet_id, 0.0)


class DecayedBeta(NetCount):
    """The mean of a Beta distribution over tags that fade; drops what is more likely harmful."""

    name = "decayed Beta"

    def allows(self, bullet_id: str, turn: int) -> bool:
        """While it is as likely to help as to harm."""
        return self.worth(bullet_id, turn) >= 0.5

    def worth(self, bullet_id: str, turn: int) -> float:
        """The mean, with one of each to begin with."""
        helpful, harmful = self.helpful.get(bullet_id, 0.0), self.harmful.get(bullet_id, 0.0)
        return (helpful + 1) / (helpful + harmful + 2)

    def learn(self, outcome: Outcome) -> None:
        """Count the tags; the older ones of each cited bullet fade."""
        for citation in outcome.cited:
            for counts in (self.helpful, self.harmful):
                counts[citation.bullet_id] = counts.get(citation.bullet_id, 0.0) * HALF_LIFE
        super().learn(outcome)


class Ours:
    """The score of `swecli.playbook.score`, among the bullets that the gate let in as active."""

    name = "ours"

    def __init__(self, active: Iterable[str]) -> None:
        self.active = frozenset(active)
        self.standings = Standings()

    def belief(self, bullet_id: str) -> Belief:
        """What is believed of it."""
        return self.standings.of(bullet_id)

    def allows(self, bullet_id: str, turn: int) -> bool:
        """What is active and in good standing."""
        return bullet_id in self.active and self.belief(bullet_id).standing == "good"

    def worth(self, bullet_id: str, turn: int) -> float:
        """Its score."""
        return self.belief(bullet_id).score

    def learn(self, outcome: Outcome) -> None:
        """Move the beliefs."""
        self.standings = after(self.standings, outcome)


class AtFirstDoubt(Ours):
    """The same without the benefit of the doubt: out as soon as harm is likelier than help."""

    name = "ours, out at E < 0"

    def allows(self, bullet_id: str, turn: int) -> bool:
        """What is active and expected to help."""
        return super().allows(bullet_id, turn) and self.belief(bullet_id).expected >= 0
