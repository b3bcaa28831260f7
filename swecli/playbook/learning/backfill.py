"""Learning from stored sessions: the same loop as after a turn, over every turn of them, each as often as wanted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from swecli.playbook.learning.reporting import LearningEvent
from swecli.playbook.learning.service import LearningService


@dataclass(frozen=True, slots=True)
class Studied:
    """One turn that was looked at, and what came of it."""

    session_id: str
    interaction: int
    epoch: int
    events: tuple[LearningEvent, ...]


async def study(learner: LearningService, sessions: Sequence[str], epochs: int = 1) -> AsyncIterator[Studied]:
    """Reflect on every turn of the sessions until each was reflected on `epochs` times, the oldest first.

    Done twice it is as if done once: a turn that was reflected on so often already is passed over, also where that
    happened when it ended. Later epochs see what the earlier ones learned.

    Args:
        learner: reflects, within its limits; its current session changes.
        sessions: ids, titles or prefixes of ids.
        epochs: how often, from 1.

    Raises:
        BadInput: one of the sessions is not there; nothing was learned then.
    """
    manager, store = learner.sessions, learner.sessions.playbook
    ids = [manager.resume(ref, "").id for ref in sessions]
    for epoch in range(1, epochs + 1):
        for name in ids:
            last = manager.resume(name, "").interactions
            for number in range(1, last + 1):
                if store.times(name, number) < epoch:
                    yield Studied(name, number, epoch, tuple(await learner.learn(number)))
