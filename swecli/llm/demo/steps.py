"""How a plan is written: a generator that yields the next calls, is sent their outcomes, and returns its answer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from swecli.llm.demo.calls import Call
from swecli.llm.demo.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model: text, and the calls it asks for (none: the turn is over)."""

    text: str = ""
    calls: tuple[Call, ...] = ()


# A plan is replayed from its beginning in every request: what was called before is answered from the history.
Plan = Generator[Step, list[Outcome], str]
Asking = Generator[Step, list[Outcome], list[Outcome]]
AskingOne = Generator[Step, list[Outcome], Outcome]


class Halted(Exception):
    """A call was refused or cut off: the plan goes no further."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.call.name)
        self.outcome = outcome
        self.told: list[str] = []  # what parts of the turn before it had to say


def ask(text: str, *calls: Call) -> Asking:
    """Make calls, together, and wait for their outcomes. Raises Halted when one was refused or interrupted."""
    outcomes = yield Step(text, calls)
    for outcome in outcomes:
        if outcome.refused or outcome.interrupted:
            raise Halted(outcome)
    return outcomes


def one(text: str, name: str, **parameters: Any) -> AskingOne:
    """Make one call; parameters that are None are left out. Raises Halted like `ask`."""
    outcomes = yield from ask(text, call(name, **parameters))
    return outcomes[0]


def call(name: str, **parameters: Any) -> Call:
    """A call without the parameters that are None."""
    return Call(name, {key: value for key, value in parameters.items() if value is not None})
