"""Computes the tokens and cost of a session's requests under several context policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from pathlib import Path

from lab.windows.prices import Prices
from swecli.agent.replay import replay_turns
from swecli.config.settings import Settings
from swecli.context.replay.history import History, PastStep, PastTurn
from swecli.context.replay.requests import Assumptions, ReplayedTurn, SentRequest
from swecli.context.situation import environment_notes
from swecli.context.system_message import load_prompt
from swecli.context.tokens import PER_MESSAGE, PER_REQUEST
from swecli.models.message import IMAGES, ApiMessage, Usage
from swecli.models.notes import with_notes
from swecli.models.playbook import render_bullets
from swecli.models.window_spec import WindowSpec

OURS = "ours"
MINIMUM_PREFIX = 1_024  # tokens; a shorter one is not cached
_COMPACT_AT = 90  # percent of the window


def system_message(history: History, turn: PastTurn | None = None) -> ApiMessage:
    """Return the plain system message, with the playbook as it was when a turn began (None: without)."""
    known = render_bullets(history.bullets_at(turn)) if turn else ""
    return {"role": "system", "content": history.prompt + known}


def query_message(history: History, turn: PastTurn) -> ApiMessage:
    """Return a turn's query as it is sent, with its environment notes."""
    day = date.fromtimestamp(turn.steps[0].sent_at)
    notes = environment_notes(Path(history.session.working_directory), day)
    images = {IMAGES: list(turn.images)} if turn.images else {}
    return {"role": "user", "content": with_notes(turn.sent_text, notes), **images}


def fixed_tokens(history: History) -> int:
    """Count the tokens that every request begins with."""
    counter = history.counter
    tools = counter.count_tools(history.tools)
    return PER_REQUEST + tools + PER_MESSAGE + counter.count(history.prompt)


def _next_messages(step: PastStep) -> list[ApiMessage]:
    """Return the messages that a step adds to the next request."""
    messages = step.reply.to_api() if step.reply else []
    return [*messages, *({"role": "user", "content": line} for line in step.steered)]


def _baseline(
    history: History,
    assumed: Assumptions,
    spec: WindowSpec,
    *,
    playbook: bool = False,
    compact: bool = False,
) -> Iterator[ReplayedTurn]:
    """Replay with the last interactions and the playbook as it was when a turn began; with `compact` a summary replaces
    everything but the query when the model's window is nearly full."""
    past, start, summaries, counter = list[list[ApiMessage]](), 1, 0, history.counter
    fixed = fixed_tokens(history)
    for turn in history.turns:
        first = spec.first_kept(len(past), start)
        reductions, start, visible = int(first > start), first, len(past) - first + 1 - summaries
        kept = [
            system_message(history, turn if playbook else None),
            *(one for group in past[first - 1 :] for one in group),
        ]
        query, sent = query_message(history, turn), list[SentRequest]()
        running = [query]
        for step in turn.steps:
            messages = [*kept, *running]
            tokens = fixed + counter.count_messages(messages[1:]) if compact and messages[2:] else 0
            if tokens * 100 >= assumed.context_window * _COMPACT_AT:
                summary = assumed.summary(tokens - fixed)
                asked = {"role": "user", "content": load_prompt("condense")}
                sent.append(SentRequest(step.sent_at, [*messages, asked], counter.count(summary)))
                past, running = [[{"role": "user", "content": summary}]], [query]
                kept, summaries, visible, reductions = [kept[0], *past[0]], 1, 0, reductions + 1
                messages = [*kept, query]
            sent.append(SentRequest(step.sent_at, messages, history.count_output(step.reply)))
            running += _next_messages(step)
        past.append(running)
        yield ReplayedTurn(turn.number, tuple(sent), visible, reductions)


_FULL = WindowSpec(mode="full")
# Policies to compare with the product's own.
POLICIES: dict[str, Callable[[History, Assumptions], Iterator[ReplayedTurn]]] = {
    "full": lambda history, assumed: _baseline(history, assumed, _FULL),
    "exact": lambda history, assumed: _baseline(
        history, assumed, WindowSpec(assumed.window.size), playbook=True
    ),
    "slack": lambda history, assumed: _baseline(history, assumed, assumed.window, playbook=True),
    "compact90": lambda history, assumed: _baseline(history, assumed, _FULL, compact=True),
}
ALL = (*POLICIES, OURS)


@dataclass(slots=True)
class TurnUsage:
    """Tokens and cost of a turn under a policy; with `turn` 0, of a whole session. `input` counts all tokens sent,
    `cached` those read from the cache; `over` counts requests larger than the model's window; `visible` is the number
    of completed interactions in the last request (the mean of a session); `cold`: the cache had expired."""

    turn: int
    cold: bool = False
    requests: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    peak: int = 0
    visible: float = 0
    reductions: int = 0
    over: int = 0

    @property
    def cached_share(self) -> float:
        return self.cached / self.input if self.input else 0.0


@dataclass(frozen=True, slots=True)
class PolicyUsage:
    """The usage of a session's turns under one policy."""

    policy: str
    turns: list[TurnUsage]

    @classmethod
    def compute(
        cls,
        policy: str,
        turns: Iterable[ReplayedTurn],
        history: History,
        assumed: Assumptions,
        prices: Prices,
    ) -> PolicyUsage:
        """Compute the usage of a session's requests, in their order. The prefix shared with the previous request is
        cached, unless the pause was too long or the prefix is too short."""
        count, fixed = history.counter.count_message, fixed_tokens(history)
        usages: list[TurnUsage] = []
        tools = fixed - count(system_message(history))
        writes = (
            "cache_creation_input_token_cost" in prices.row
        )  # some providers bill writing to the cache separately
        last, sums, at = (
            list[ApiMessage](),
            list[int](),
            float("-inf"),
        )  # sums: tokens up to and including each message
        for turn in turns:
            cold = turn.requests[0].sent_at - at >= assumed.ttl
            usage = TurnUsage(turn.number, cold, visible=turn.visible, reductions=turn.reductions)
            for sent in turn.requests:
                pairs = enumerate(zip(last, sent.messages, strict=False))
                same = next(
                    (n for n, (a, b) in pairs if a is not b and a != b),
                    min(len(last), len(sent.messages)),
                )
                shared = sums[same - 1] if same else fixed if last else 0
                known = sums[:same] or [tools + count(sent.messages[0])]
                sums = [
                    *known[:-1],
                    *accumulate(map(count, sent.messages[len(known) :]), initial=known[-1]),
                ]
                tokens = sums[-1]
                cached = (
                    shared if sent.sent_at - at < assumed.ttl and shared >= MINIMUM_PREFIX else 0
                )
                written = tokens - cached if writes and tokens >= MINIMUM_PREFIX else 0
                billed = Usage(
                    tokens - cached - written,
                    cache_read=cached,
                    cache_write=written,
                    output=sent.output,
                )
                usage.requests += 1
                usage.input += tokens
                usage.cached += cached
                usage.output += sent.output
                usage.cost += prices.cost(billed)
                usage.peak = max(usage.peak, tokens)
                usage.over += tokens > assumed.context_window
                last, at = sent.messages, sent.sent_at
            usages.append(usage)
        return cls(policy, usages)

    def totals(self) -> TurnUsage:
        total = TurnUsage(0, peak=max(turn.peak for turn in self.turns))
        for name in (
            "requests",
            "input",
            "cached",
            "output",
            "cost",
            "visible",
            "reductions",
            "over",
        ):
            setattr(total, name, sum(getattr(turn, name) for turn in self.turns))
        total.visible /= len(self.turns)
        return total


def replay_policies(
    names: Iterable[str],
    history: History,
    assumed: Assumptions,
    prices: Prices,
    settings: Settings,
) -> dict[str, PolicyUsage]:
    """Replay a session under each of these policies; `ours` runs the program's own turns, the others are computed."""
    usages = {}
    for name in dict.fromkeys(names):
        turns: Iterable[ReplayedTurn]
        if name == OURS:
            turns = [turn for turn, _ in replay_turns(history, assumed, settings)]
        else:
            turns = POLICIES[name](history, assumed)
        usages[name] = PolicyUsage.compute(name, turns, history, assumed, prices)
    return usages
