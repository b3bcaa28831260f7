"""The turns that the next request leaves out: their outline, one of them whole, and sending one again."""

from __future__ import annotations

from dataclasses import replace

from swecli.agent.agent import Agent
from swecli.agent.context_control import ContextControl
from swecli.context.brought_back import quote_turn
from swecli.context.outline import MAX_TURNS
from swecli.models.errors import BadInput
from swecli.models.session import EarlierTurn, Session
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class LeftTurn:
    """A turn that the next request leaves out, unless it `is_brought_back`."""

    turn: EarlierTurn
    tokens: int  # of its messages and results, as stored
    is_brought_back: bool


@dataclass(frozen=True, slots=True)
class LeftOutline:
    """The newest of the turns that are left out, oldest first."""

    turns: tuple[LeftTurn, ...]
    older: int  # turns that are left out too, and not among these


class LeftTurns:
    """Works on the current session. Every method may raise BadInput if there is none."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._sessions = agent.sessions

    @property
    def session(self) -> Session:
        """The current session. Raises BadInput before its first turn."""
        return ContextControl(self._agent).session

    def outline(self) -> LeftOutline:
        """Return the turns that the next request leaves out. As many are read as an outline can list, however long the
        session is."""
        session = self.session
        numbers = self._left_numbers()
        listed = numbers[-MAX_TURNS:]
        if not listed:
            return LeftOutline((), 0)
        sizes = self._sessions.turn_sizes(listed[0], listed[-1])
        turns = [
            LeftTurn(turn, sizes.get(turn.number, 0), turn.number in session.context.brought_back)
            for turn in self._sessions.outline(session, listed[0], listed[-1])
            if turn.number in listed
        ]
        return LeftOutline(tuple(turns), len(numbers) - len(listed))

    def read(self, number: int) -> str:
        """Return a turn as a request quotes it. Raises BadInput if there is none of this number."""
        self.session.resolve_turn(f"T{number}")
        return quote_turn(number, self._sessions.read_turn(number)).text

    def bring_back(self, number: int) -> int:
        """Send a turn again with the next request, and return its tokens there. Raises BadInput if it is sent anyway,
        or if there is no room for all of it beside what else is sent."""
        self._sessions.require_current()
        self.session.resolve_turn(f"T{number}")
        if number not in self._left_numbers():
            raise BadInput(f"T{number} is sent with the next request anyway.")
        session = self.session
        agent = self._agent
        agent.count_exactly()
        fitter = agent.make_fitter()
        without = self._with_brought_back(set(session.context.brought_back) - {number})
        before = fitter.measure(agent.prepare("", session=without).request.keyed_messages)
        trial = self._with_brought_back({*session.context.brought_back, number})
        request = agent.prepare("", session=trial).request
        name = f"brought back {number}"
        tokens = sum(segment.tokens for segment in request.brought_back if segment.name == name)
        if not fitter.measure(request.keyed_messages).fits:
            room = f"{max(0, (before.limit or 0) - before.tokens):,} tokens are free"
            if before.limit is None:
                room = "it is too long"
            raise BadInput(
                f"T{number} has {tokens:,} tokens, and in the next request {room}.",
                "It was not brought back. Ask for the part of it that matters.",
            )
        self._sessions.context.bring_back(session, number)
        return tokens

    def leave_out(self, number: int) -> None:
        """Do not send a turn again after all. Raises BadInput if it was not to be."""
        self._sessions.require_current()
        if number not in self.session.context.brought_back:
            raise BadInput(f"T{number} was not brought back.")
        self._sessions.context.leave_out(self.session, [number])

    def _left_numbers(self) -> list[int]:
        """Return the numbers of the turns that are in the next request neither by the window nor pinned, ascending."""
        first, _ = self._agent.prepare("").request.window
        pins = set(self.session.context.pins)
        return [number for number in range(1, first) if number not in pins]

    def _with_brought_back(self, numbers: set[int]) -> Session:
        """Return the session as it would be with these turns brought back, and their messages loaded."""
        session = self.session
        context = replace(session.context, brought_back=tuple(sorted(numbers)))
        trial = replace(session, context=context)
        self._sessions.context.load_marked(trial)
        return trial
