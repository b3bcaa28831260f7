"""How a turn went, from its signals: one verdict with the weight of what told it, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import TurnDigest
from swecli.playbook.score import topic_of
from swecli.playbook.signals import Signal, signals_of

SURE = 1.0  # a signal of this weight is the user's word or a test
LEAST = 0.5  # what weighs less is friction, and no verdict


@dataclass(frozen=True, slots=True)
class Verdict:
    """`good` is None when nothing told, or when what told it disagrees; then `weight` is 0."""

    good: bool | None = None
    weight: float = 0.0
    signal: str = ""


def verdict_on_turn(digest: TurnDigest) -> Verdict:
    """How the turn itself went: by its own calls, or by the user's mark."""
    signals = signals_of(digest)
    marks = [s for s in signals if s.name == "mark"]
    return _strongest(marks or [s for s in signals if s.about == "turn"])


def verdict_on_previous(digest: TurnDigest) -> Verdict:
    """How the turn before went, by the words this one opens with."""
    return _strongest(s for s in signals_of(digest) if s.about == "previous" and s.name != "mark")


def _strongest(signals: Iterable[Signal]) -> Verdict:
    strong = [s for s in signals if s.weight >= LEAST]
    best = max(strong, key=lambda s: s.weight, default=None)
    if best is None or any(s.weight == best.weight and s.direction != best.direction for s in strong):
        return Verdict()
    return Verdict(best.direction == "good", min(best.weight, SURE), best.name)


def topic(digest: TurnDigest, playbook: SessionPlaybook) -> str:
    """What the turn was about: the section of most of the strategies it cited."""
    cited: Sequence[str] = digest.cited
    return topic_of([playbook.bullets[name].section for name in cited if name in playbook.bullets])
