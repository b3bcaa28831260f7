"""The policies a replay compares: each keeps the next request of a session in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from swecli.context.budget import request_limit
from swecli.context.replay_history import History, Piece, Step, Turn
from swecli.models.window import WindowSpec

COMPACT_AT = 90
CLEAR_AT = 75
SUMMARY_TOKENS = 3_000
KEPT_RESULTS = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """What the policies go by. `context_window` and `summary_tokens` in tokens, the other two in percent of it.

    `summary_tokens` is assumed: no model is asked. A summary is never assumed to be larger than half of its source.
    """

    window: WindowSpec = field(default_factory=lambda: WindowSpec(5, 3))
    context_window: int = 200_000
    compact_at: int = COMPACT_AT
    clear_at: int = CLEAR_AT
    summary_tokens: int = SUMMARY_TOKENS

    @property
    def allowed(self) -> int:
        """Tokens a request may have, with room for the answer."""
        return request_limit(self.context_window) or self.context_window


class Prompt:
    """The next request. It knows how many of its tokens the one sent last began with, message by message."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.tokens = 0
        self.shared = 0
        self._sent = self.pieces
        self._sent_length = 0

    def put(self, pieces: Sequence[Piece]) -> None:
        """Add to the end."""
        self.pieces.extend(pieces)
        self.tokens += sum(piece.tokens for piece in pieces)

    def replace(self, pieces: list[Piece]) -> None:
        """Begin anew with these, of which the first may be the old ones."""
        self.pieces, self.tokens, self.shared = pieces, sum(piece.tokens for piece in pieces), 0
        for old, new in zip(self._sent[: self._sent_length], pieces, strict=False):
            if old is not new:
                break
            self.shared += new.tokens

    def sent(self) -> None:
        """Take note that it was sent as it is."""
        self._sent, self._sent_length, self.shared = self.pieces, len(self.pieces), self.tokens


class Policy(Protocol):
    """How the next request follows from the last. `visible` counts completed interactions in it, word for word."""

    prompt: Prompt
    visible: int
    reductions: int

    def begin(self, turn: Turn, *, cold: bool) -> None:
        """A turn begins; `cold`: whatever the provider kept of the last request is gone."""

    def settle(self) -> Iterator[int]:
        """Make the request fit before it is sent. For each request of its own that this takes it yields the tokens
        of the answer, while `prompt` is that request."""

    def take(self, step: Step) -> None:
        """A step has brought its reply and its results."""


class Full:
    """Everything, always."""

    def __init__(self, history: History, limits: Limits) -> None:
        self.prompt, self.visible, self.reductions = Prompt(), -1, 0
        self._head = [history.tools, history.system]

    def begin(self, turn: Turn, *, cold: bool) -> None:
        """Append the query."""
        if not self.prompt.pieces:
            self.prompt.put(self._head)
        self.prompt.put([turn.query])
        self.visible += 1

    def settle(self) -> Iterator[int]:
        """Nothing is ever taken out."""
        yield from ()

    def take(self, step: Step) -> None:
        """Append what came."""
        self.prompt.put([*([step.reply] if step.reply else ()), *step.results])


class Compact(Full):
    """Everything, until the window is nearly full: then a summary takes the place of all but the query."""

    def __init__(self, history: History, limits: Limits) -> None:
        super().__init__(history, limits)
        self._limits, self._instruction = limits, history.instruction
        self._query = history.turns[0].query

    def begin(self, turn: Turn, *, cold: bool) -> None:
        """Append the query."""
        self._query = turn.query
        super().begin(turn, cold=cold)

    def settle(self) -> Iterator[int]:
        """Ask for a summary of the request as it stands, on its own cached prefix."""
        prompt = self.prompt
        said = prompt.tokens - sum(piece.tokens for piece in [*self._head, self._query])
        if prompt.tokens * 100 < self._limits.context_window * self._limits.compact_at or said <= 1:
            return
        size = min(self._limits.summary_tokens, said // 2)
        prompt.put([self._instruction])
        yield size
        prompt.replace([*self._head, Piece(size), self._query])
        self.visible = 0
        self.reductions += 1


class Window(Full):
    """The last interactions, with the playbook in the head as it is when the turn begins."""

    def __init__(self, history: History, limits: Limits) -> None:
        super().__init__(history, limits)
        self._spec, self._playbook = self.spec(limits), history.playbook
        self._completed: list[list[Piece]] = []
        self._start = 1

    @staticmethod
    def spec(limits: Limits) -> WindowSpec:
        """Exactly so many."""
        return WindowSpec(limits.window.size)

    def begin(self, turn: Turn, *, cold: bool) -> None:
        """Head, window, query: the bytes that did not change are the cached ones."""
        first = self._spec.first_kept(len(self._completed), self._start)
        self.reductions += first > self._start
        self._start = first
        kept = self._completed[first - 1 :]
        self.visible = len(kept)
        head = [*self._head, self._playbook.snapshot(turn.learned)]
        self.prompt.replace([*head, *(piece for group in kept for piece in group), turn.query])
        self._completed.append(turn.pieces)


class Slack(Window):
    """The same, but the window grows by some interactions before it is cut back in one go."""

    @staticmethod
    def spec(limits: Limits) -> WindowSpec:
        """So many, and some more."""
        return limits.window


class Ours:
    """Window and slack in epochs: between two reductions every request is the last one and more.

    The playbook's snapshot in the head changes only when an epoch begins; what is learned between travels as a note
    with the query. An epoch begins when more than size + slack interactions are held, when the window takes half of
    what is allowed, and, because it is free then, when the cache is cold and more than `size` are held. Old tool
    results are cleared in one batch when the request is over the threshold and enough is gained.
    """

    def __init__(self, history: History, limits: Limits) -> None:
        self.prompt, self.visible, self.reductions = Prompt(), 0, 0
        self._head, self._playbook, self._limits = [history.tools, history.system], history.playbook, limits
        self._snapshot = history.playbook.snapshot(0)
        self._told = 0
        self._groups: list[list[Piece]] = []

    def begin(self, turn: Turn, *, cold: bool) -> None:
        """Begin an epoch if it is time; else append the query, with a note of what was learned."""
        first = not self.prompt.pieces
        if first or self._is_time(cold=cold):
            self.reductions += not first
            self._groups = self._groups[-self._limits.window.size :]
            self._snapshot, self._told = self._playbook.snapshot(turn.learned), turn.learned
            self._rebuild()
        note = self._playbook.notes(self._told, turn.learned)
        self._told = turn.learned
        query = Piece(turn.query.tokens + note) if note else turn.query
        self.visible = len(self._groups)
        self._groups.append([query])
        self.prompt.put([query])

    def _is_time(self, *, cold: bool) -> bool:
        held, size, slack = len(self._groups), self._limits.window.size, self._limits.window.slack
        if held <= size:
            return False
        return cold or held > size + slack or self._held_tokens() * 2 > self._limits.allowed

    def _held_tokens(self) -> int:
        return sum(piece.tokens for group in self._groups for piece in group)

    def settle(self) -> Iterator[int]:
        """Clear old results, then leave out the older half of the interactions, until it fits."""
        yield from ()
        limits, tokens = self._limits, self.prompt.tokens
        if tokens * 100 >= limits.context_window * limits.clear_at or tokens > limits.allowed:
            self._clear(must=tokens > limits.allowed)
        while self.prompt.tokens > limits.allowed and len(self._groups) > 1:
            self._groups = self._groups[len(self._groups) // 2 :]
            self.visible = len(self._groups) - 1
            self.reductions += 1
            self._rebuild()

    def _clear(self, *, must: bool) -> None:
        """Put stubs in place of all results but the newest; not for a small gain, since what follows is billed anew."""
        results = [(g, i) for g, group in enumerate(self._groups) for i, piece in enumerate(group) if _is_result(piece)]
        old = results[: max(0, len(results) - KEPT_RESULTS)]
        gain = sum(self._groups[g][i].tokens - _stub(self._groups[g][i]).tokens for g, i in old)
        if not gain or (not must and gain * 10 < self._limits.allowed):
            return
        for g, i in old:
            self._groups[g][i] = _stub(self._groups[g][i])
        self.reductions += 1
        self._rebuild()

    def _rebuild(self) -> None:
        self.prompt.replace([*self._head, self._snapshot, *(piece for group in self._groups for piece in group)])

    def take(self, step: Step) -> None:
        """Append what came."""
        pieces = [*([step.reply] if step.reply else ()), *step.results]
        self._groups[-1] += pieces
        self.prompt.put(pieces)


def _is_result(piece: Piece) -> bool:
    return piece.stub is not None


def _stub(piece: Piece) -> Piece:
    return piece.stub or piece


POLICIES: dict[str, type[Full] | type[Ours]] = {
    "full": Full,
    "exact": Window,
    "slack": Slack,
    "compact90": Compact,
    "ours": Ours,
}
