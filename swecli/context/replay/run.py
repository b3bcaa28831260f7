"""Computes and plots the tokens and cost of a session's requests under several context policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal
from xml.sax.saxutils import escape

from swecli.context.replay.history import History
from swecli.llm.price_table import cost_of, find_row, token_count
from swecli.models.context import WindowSpec
from swecli.models.message import ApiMessage, Usage

TTL = 300.0
OURS = "ours"
MINIMUM_PREFIX = 1_024  # tokens; a shorter one is not cached
_COMPACT_AT = 90  # percent of the window
# Price of each kind of token relative to an input token, typical of several providers.
_RELATIVE = {
    "input_cost_per_token": 1.0,
    "cache_creation_input_token_cost": 1.25,
    "cache_read_input_token_cost": 0.1,
    "output_cost_per_token": 5.0,
}


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of one model. `row` has the keys of litellm's table; `context_window` and `max_output` are in tokens, None
    if unknown."""

    model: str
    unit: Literal["USD", "relative units"]
    row: Mapping[str, Any]
    context_window: int | None = None
    max_output: int | None = None

    @classmethod
    def of(cls, name: str) -> Prices:
        """Return the prices of the model `provider/name` (or `name`) from litellm's local table, or relative prices."""
        provider, slash, model = name.partition("/")
        row = find_row(provider, model) if slash else find_row("", name)
        sizes = [
            token_count(row, f"max_{part}_tokens", "max_tokens") or None
            for part in ("input", "output")
        ]
        if cost_of(Usage(input=1, output=1), row) is None:
            return cls(name, "relative units", _RELATIVE, *sizes)
        # only the keys needed: the row is read for each of many thousand requests
        kept, found = tuple(_RELATIVE), (row or {}).items()
        used = {
            key: value
            for key, value in found
            if isinstance(value, int | float) and key.startswith(kept)
        }
        return cls(name, "USD", used, *sizes)

    def cost(self, usage: Usage) -> float:
        return cost_of(usage, self.row) or 0.0

    def per_million(self) -> dict[str, float]:
        """Return the price of a million tokens of each kind, or of one token in relative units, for short prompts."""
        many = 1_000_000 if self.unit == "USD" else 1
        one = {
            name: Usage(**{name: 1}) for name in ("input", "cache_write", "cache_read", "output")
        }
        return {name: round(self.cost(usage) * many, 6) for name, usage in one.items()}


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions of a replay: the model's `context_window` in tokens, the `ttl` of the provider's cache in seconds
    after the last request, and the length of a summary, which is at most half of its source."""

    prices: Prices
    window: WindowSpec = WindowSpec(5, 3)
    context_window: int = 200_000
    ttl: float = TTL
    summary_tokens: int = 3_000

    def summary(self, source: int) -> str:
        """Return a placeholder for the summary of `source` tokens."""
        return " text" * max(1, min(self.summary_tokens, source // 2))


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request: when it was sent (seconds since 1970), its messages, the tokens of its answer, and whether it is for a
    summary."""

    at: float
    messages: list[ApiMessage]
    output: int
    condense: bool = False


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn's requests, the number of completed interactions `visible` word for word in the last of them, and the
    number of reductions."""

    number: int
    requests: tuple[SentRequest, ...]
    visible: int
    reductions: int


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
    for turn in history.turns:
        first = spec.first_kept(len(past), start)
        reductions, start, visible = int(first > start), first, len(past) - first + 1 - summaries
        kept = [
            history.system(turn if playbook else None),
            *(one for group in past[first - 1 :] for one in group),
        ]
        query, sent = history.query(turn), list[SentRequest]()
        running = [query]
        for step in turn.steps:
            messages = [*kept, *running]
            tokens = (
                history.fixed + counter.count_messages(messages[1:])
                if compact and messages[2:]
                else 0
            )
            if tokens * 100 >= assumed.context_window * _COMPACT_AT:
                summary = assumed.summary(tokens - history.fixed)
                asked = {"role": "user", "content": history.condense}
                sent.append(SentRequest(step.at, [*messages, asked], counter.count(summary)))
                past, running = [[{"role": "user", "content": summary}]], [query]
                kept, summaries, visible, reductions = [kept[0], *past[0]], 1, 0, reductions + 1
                messages = [*kept, query]
            sent.append(SentRequest(step.at, messages, history.output(step.reply)))
            running += step.next_messages()
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
        cls, policy: str, turns: Iterable[ReplayedTurn], history: History, assumed: Assumptions
    ) -> PolicyUsage:
        """Compute the usage of a session's requests, in their order. The prefix shared with the previous request is
        cached, unless the pause was too long or the prefix is too short."""
        count, fixed, prices, usages = (
            history.counter.count_message,
            history.fixed,
            assumed.prices,
            list[TurnUsage](),
        )
        tools = fixed - count(history.system())
        writes = (
            "cache_creation_input_token_cost" in prices.row
        )  # some providers bill writing to the cache separately
        last, sums, at = (
            list[ApiMessage](),
            list[int](),
            float("-inf"),
        )  # sums: tokens up to and including each message
        for turn in turns:
            cold = turn.requests[0].at - at >= assumed.ttl
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
                cached = shared if sent.at - at < assumed.ttl and shared >= MINIMUM_PREFIX else 0
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
                last, at = sent.messages, sent.at
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


_ROWS, _MIN_WIDTH = 20, 30
_SVG_COLUMNS, _LETTER_WIDTH, _LINE = 100, 9, 18  # pixels of a letter's width and of a line


def plot(replays: Sequence[PolicyUsage], width: int) -> list[str]:
    """Plot input tokens by turn on a logarithmic scale, in lines of at most `width` columns (or the minimum width).
    Each policy is drawn with its first letter and has at least one turn."""
    # late: needed only for a plot
    import plotext

    curves = {
        replayed.policy: _curve(replayed, max(_MIN_WIDTH, width) // 3) for replayed in replays
    }
    values = [value for _, curve in curves.values() for value in curve]
    ticks = [n * 10**power for power in range(13) for n in (1, 2, 5)]
    shown = [tick for tick in ticks if min(values) <= tick <= max(values)][-_ROWS // 2 :] or [
        min(values)
    ]
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plot_size(max(_MIN_WIDTH, width), _ROWS)
    plotext.yscale("log")
    for name, (turns, curve) in curves.items():
        plotext.plot(turns, curve, marker=name[0], label=name)
        plotext.xticks([turns[0], turns[-1]])
    plotext.yticks(shown, [f"{tick:,}" for tick in shown])
    drawn = plotext.uncolorize(plotext.build()).splitlines()
    return ["input tokens a turn, by turn:", *(line.rstrip() for line in drawn)]


def _curve(replayed: PolicyUsage, points: int) -> tuple[list[int], list[float]]:
    """Return turns and their input tokens, averaged if there are more turns than points."""
    size = -(-len(replayed.turns) // points)
    shared = [replayed.turns[n : n + size] for n in range(0, len(replayed.turns), size)]
    return [some[-1].turn for some in shared], [
        max(1.0, sum(t.input for t in some) / len(some)) for some in shared
    ]


def svg(replays: Sequence[PolicyUsage], title: str) -> str:
    """Return the plot as an SVG document."""
    lines = ["", f" {title}: a simulation", *plot(replays, _SVG_COLUMNS)]
    rows = "".join(
        f'<tspan x="0" y="{(n + 1) * _LINE}">{escape(line)}</tspan>\n'
        for n, line in enumerate(lines)
    )
    size = f'width="{(_SVG_COLUMNS + 1) * _LETTER_WIDTH}" height="{(len(lines) + 1) * _LINE}"'
    text = 'font-family="monospace" font-size="15" fill="#1f2430" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n<text {text}>{rows}</text>\n</svg>\n'
    )
