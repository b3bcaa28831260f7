"""Strategies that contradict each other, which are named once for each state of their texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from swecli.models.playbook import Bullet
from swecli.store.turn_records import TurnRecords


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Strategies that nobody can follow together, while nothing tells which one holds."""

    ids: tuple[str, ...]
    why: str = ""

    @property
    def line(self) -> str:
        """What the user is told."""
        reason = f": {self.why}" if self.why else ""
        return f"{' and '.join(self.ids)} contradict each other{reason}"

    @property
    def figure(self) -> str:
        """The name under which the store keeps that the user was told."""
        return f"contradiction:{'+'.join(sorted(self.ids))}"


@dataclass(slots=True)
class UntoldContradictions:
    """Contradictions that the user was not told yet, as `lines`; `figures` record that he is."""

    lines: tuple[str, ...] = ()
    figures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        contradictions: Iterable[Contradiction],
        bullets: Mapping[str, Bullet],
        turns: TurnRecords,
    ) -> UntoldContradictions:
        """Select those whose texts, in `bullets`, differ from the ones that were told of."""
        untold = cls()
        for contradiction in contradictions:
            figure = contradiction.figure
            texts = [bullets[name].content for name in sorted(contradiction.ids)]
            fingerprint = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:24]
            told = turns.figures([figure]) | untold.figures
            if told.get(figure) != fingerprint:
                untold.lines += (contradiction.line,)
                untold.figures[figure] = fingerprint
        return untold
