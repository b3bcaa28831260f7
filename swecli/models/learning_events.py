"""The events of learning."""

from __future__ import annotations

from swecli.models.events import Event
from swecli.models.money import format_dollars
from swecli.values import dataclass

_MAX_PARTS = 4  # changes that one line names


@dataclass(frozen=True, slots=True)
class PlaybookUpdated(Event):
    """What was learned from turn `interaction`, of the session `elsewhere` if that is not "": the delta with `delta_id`
    ("": none) and a model's answer of `tokens` (0: none was asked). `lines` describe the changes for the user, `answer`
    all that the model said; the strategies in `waiting` need the user's approval."""

    interaction: int
    delta_id: str
    lines: tuple[str, ...]
    added: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    cost: float | None = 0.0
    tokens: int = 0
    waiting: tuple[str, ...] = ()
    elsewhere: str = ""
    answer: tuple[str, ...] = ()

    def describe(self, review: str = "swecli playbook review") -> str:
        """Return one line, with the command `review` if something waits for it; "" if nothing changed, whatever was
        paid for it: /cost has the sum. Of proposals that were refused, only those of the user are named."""
        parts = [*self.lines, *_format_waiting(self.waiting, review)]
        if not self.tokens:
            parts += [f"rejected: {line}" for line in self.refused]
        if not parts:
            return ""
        if len(parts) > _MAX_PARTS:
            unnamed = len(parts) - _MAX_PARTS
            parts = [
                *parts[:_MAX_PARTS],
                f"{unnamed} more ({review.replace('review', 'list --log')})",
            ]
        turn = [_format_turn(self.interaction, self.elsewhere)] if self.interaction else []
        return ": ".join([*turn, " · ".join([*parts, *_format_cost(self.cost)])])


@dataclass(frozen=True, slots=True)
class ReflectionFailed(Event):
    """Reflection on a turn, of the session `elsewhere` if that is not "", failed. If `kept`, it will be retried; with
    `paused`, no model was asked, and the event is emitted once for each reason."""

    interaction: int
    reason: str
    kept: bool
    paused: bool = False
    cost: float | None = 0.0
    elsewhere: str = ""

    def describe(self) -> str:
        if self.paused:
            return f"learning paused: {self.reason}"
        outlook = "will retry later" if self.kept else "will not be retried"
        turn = _format_turn(self.interaction, self.elsewhere)
        parts = [f"could not learn from {turn}: {self.reason}", outlook, *_format_cost(self.cost)]
        return " · ".join(parts)


def _format_waiting(names: tuple[str, ...], review: str) -> tuple[str, ...]:
    if not names:
        return ()
    if len(names) > _MAX_PARTS:
        return (f"{len(names)} strategies wait ({review})",)
    return (f"{', '.join(names)} {'waits' if len(names) == 1 else 'wait'} ({review})",)


def _format_turn(interaction: int, elsewhere: str) -> str:
    return f"T{interaction} of {elsewhere}" if elsewhere else f"T{interaction}"


def _format_cost(cost: float | None) -> tuple[str, ...]:
    """Format what a reflection cost; () if it was free."""
    if cost is None:
        return ("price not known",)
    return (format_dollars(cost),) if cost else ()
