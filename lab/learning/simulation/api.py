"""The interface of a simulated world: the values it receives and returns, and the methods it implements.

A world's file imports the standard library, numpy and this module only. It defines `API = 1` and `make(seed: int,
turns: int, options: Mapping[str, str]) -> World`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Channel = Literal["start", "user", "assistant", "reflector"]
"""Imported before the first turn; typed by the user; by the tool `remember`; in the reflector's answer."""
Truth = Literal["helpful", "inert", "harmful", "poisoned", "mixed"]
"""What a strategy is at the end; "mixed" is left out of lost and caught."""
Kind = Literal["strategy", "pitfall", "fact", "preference"]
Trust = Literal["user", "reasoning", "repository", "tool", "web"]


@dataclass(frozen=True)
class Proposal:
    """A proposed strategy. `key` is the world's name for it, without brackets; `quote` words of the turn that
    support it; `anchors` as `kind:value` (empty: found in the content)."""

    key: str
    content: str
    when: str
    kind: Kind
    channel: Channel
    quote: str = ""
    source: Trust = "reasoning"
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True)
class TurnInput:
    """The input of a turn. A change of `session` starts a new one; `gone` and `appeared` are files of the workspace."""

    query: str
    model: str = "m"
    session: int = 0
    gone: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallFacts:
    """A tool call of the turn and its result."""

    id: str
    tool: str
    arguments: Mapping[str, object]
    exit_code: int | None
    output: str


@dataclass(frozen=True)
class TurnFacts:
    """The course of a turn. `answer` cites a strategy as `[key]`; `user_next` begins the user's next message; `mark`
    is the user's verdict; `undone` tells whether the user undid the turn's edits."""

    calls: tuple[CallFacts, ...]
    answer: str
    user_next: str = ""
    mark: bool | None = None
    undone: bool = False
    proposals: tuple[Proposal, ...] = ()


@dataclass(frozen=True)
class ReflectionAsked:
    """The information for the scripted reflector: the turn, the keys shown, and the outcome as the product saw it."""

    number: int
    shown: tuple[str, ...]
    outcome: bool | None


class World(Protocol):
    """A simulated world. Turns count from 0. All random numbers are drawn in advance, so that all arms play the same
    turns."""

    name: str
    turns: int

    def start(self) -> Sequence[Proposal]:
        """Return the proposals before turn 0, which pass the same gate."""

    def turn(self, number: int) -> TurnInput:
        """Return the turn's input, the same for all arms."""

    def play(self, number: int, shown: Sequence[str]) -> TurnFacts:
        """Play the turn with these keys shown."""

    def reflect(self, asked: ReflectionAsked) -> str:
        """Return the reflector's raw answer with `[key]` for ids; it may be malformed, empty or hostile."""

    def chance(self, number: int, shown: Sequence[str]) -> float:
        """Return the true chance of success, 0 to 1, for the figures only."""

    def effect(self, key: str, number: int) -> float:
        """Return the mean true effect of a strategy alone at that time."""

    def best(self, number: int, available: Sequence[str]) -> Sequence[str]:
        """Return the keys, of those available, that should be shown."""

    def truth(self, key: str) -> Truth:
        """Return the strategy's true label at the end."""
