"""Other ways of keeping a session's context, to compare with the product's own: which requests each would have sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from swecli.context.replay.history import History, after
from swecli.context.replay.prices import Prices
from swecli.models.message import ApiMessage
from swecli.models.window import WindowSpec

TTL = 300.0
COMPACT_AT = 90
SUMMARY_TOKENS = 3_000
OURS = "ours"


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a replay goes by: `context_window` of the model and `summary_tokens` in tokens, `ttl` of a provider's cache
    in seconds from the last request on. No model is asked: a summary has `summary_tokens`, at most half of its source.
    """

    prices: Prices
    window: WindowSpec = WindowSpec(5, 3)
    context_window: int = 200_000
    ttl: float = TTL
    summary_tokens: int = SUMMARY_TOKENS

    def summary(self, source: int) -> str:
        """A text in the place of a summary of so many tokens."""
        return " text" * max(1, min(self.summary_tokens, source // 2))


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it left: when (seconds since 1970), its messages, and the tokens of its answer."""

    at: float
    messages: list[ApiMessage]
    output: int


@dataclass(frozen=True, slots=True)
class SentTurn:
    """A turn's requests; `visible` completed interactions were in the last of them, word for word, after so many
    `reductions`."""

    number: int
    requests: tuple[Sent, ...]
    visible: int
    reductions: int


Policy = Callable[[History, Assumed], Iterator[SentTurn]]


def _windowed(history: History, spec: WindowSpec, *, playbook: bool) -> Iterator[SentTurn]:
    """The last interactions, behind a system message with the playbook as it is when the turn begins."""
    past, start = list[list[ApiMessage]](), 1
    for turn in history.turns:
        first = spec.first_kept(len(past), start)
        moved, start = first > start, first
        kept = past[first - 1 :]
        messages = [history.system(turn if playbook else None), *(one for group in kept for one in group)]
        running, sent = [history.query(turn)], list[Sent]()
        for step in turn.steps:
            sent.append(Sent(step.at, [*messages, *running], history.output(step.reply)))
            running += after(step)
        past.append(running)
        yield SentTurn(turn.number, tuple(sent), len(kept), int(moved))


def _compacting(history: History, assumed: Assumed) -> Iterator[SentTurn]:
    """Everything, until the window is nearly full: then a summary takes the place of all but the query."""
    messages, visible, counter = [history.system()], 0, history.counter
    for turn in history.turns:
        query, sent, reductions = history.query(turn), list[Sent](), 0
        messages.append(query)
        for step in turn.steps:
            tokens = history.fixed + counter.count_messages(messages[1:])
            if tokens * 100 >= assumed.context_window * COMPACT_AT and len(messages) > 2:  # noqa: PLR2004  system, query
                asked = [*messages, {"role": "user", "content": history.texts.condense}]
                summary = assumed.summary(tokens - history.fixed)
                sent.append(Sent(step.at, asked, counter.count(summary)))
                messages = [messages[0], {"role": "user", "content": summary}, query]
                visible, reductions = 0, reductions + 1
            sent.append(Sent(step.at, list(messages), history.output(step.reply)))
            messages += after(step)
        yield SentTurn(turn.number, tuple(sent), visible, reductions)
        visible += 1


POLICIES: dict[str, Policy] = {
    "full": lambda history, assumed: _windowed(history, WindowSpec(mode="full"), playbook=False),
    "exact": lambda history, assumed: _windowed(history, WindowSpec(assumed.window.size), playbook=True),
    "slack": lambda history, assumed: _windowed(history, assumed.window, playbook=True),
    "compact90": _compacting,
}
