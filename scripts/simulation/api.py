"""What a simulated world is, for who writes one: values that go in and come out, and the questions it has to answer.

A world's file imports the standard library, numpy and this module only. It defines `API = 1` and
`make(seed: int, turns: int, options: Mapping[str, str]) -> World`.
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
    """A strategy that somebody proposes. `key` is the world's name of it, without brackets; `quote` words of the turn
    that it rests on; `anchors` as `kind:value` (empty: read out of the content)."""

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
    """What a turn begins with. A change of `session` starts a new one; `gone` and `appeared` are files of the
    workspace."""

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
    """How a turn went. `answer` cites a strategy as `[key]`; `user_next` begins the user's next message; `mark` is the
    user's verdict; `undone` says that the user took the turn's edits back."""

    calls: tuple[CallFacts, ...]
    answer: str
    user_next: str = ""
    mark: bool | None = None
    undone: bool = False
    proposals: tuple[Proposal, ...] = ()


@dataclass(frozen=True)
class ReflectionAsked:
    """What the scripted reflector may know: the turn, the keys shown, and the outcome as the product saw it."""

    number: int
    shown: tuple[str, ...]
    outcome: bool | None


class World(Protocol):
    """Turns count from 0. All luck is drawn beforehand, so that all arms play the same turns."""

    name: str
    turns: int

    def start(self) -> Sequence[Proposal]:
        """What is proposed before turn 0, through the same gate."""

    def turn(self, number: int) -> TurnInput:
        """The same for all arms."""

    def play(self, number: int, shown: Sequence[str]) -> TurnFacts:
        """The turn with these keys shown."""

    def reflect(self, asked: ReflectionAsked) -> str:
        """The reflector's raw answer with `[key]` for ids; may be malformed, empty, hostile."""

    def chance(self, number: int, shown: Sequence[str]) -> float:
        """The true chance of success, 0 to 1: only for the figures."""

    def effect(self, key: str, number: int) -> float:
        """The mean true effect of a strategy alone at that time."""

    def best(self, number: int, available: Sequence[str]) -> Sequence[str]:
        """What should be shown, of these."""

    def truth(self, key: str) -> Truth:
        """What it is at the end."""
