"""What the requests of a session would have been and come to, under the product's policy and under others; and drawn,
in plain characters or as SVG: input tokens of each turn, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal
from xml.sax.saxutils import escape

from swecli.context.replay.history import History, after
from swecli.llm.price_table import cost_of, find_row, limit, provider_of
from swecli.models.message import ApiMessage, Usage
from swecli.models.window import WindowSpec

TTL = 300.0
OURS = "ours"
MINIMUM_PREFIX = 1_024  # tokens; a shorter one is not cached
_COMPACT_AT = 90  # percent of the window
# A token of each kind beside a token of input, as several providers bill them.
RELATIVE = {
    "input_cost_per_token": 1.0,
    "cache_creation_input_token_cost": 1.25,
    "cache_read_input_token_cost": 0.1,
    "output_cost_per_token": 5.0,
}


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of one model. `row` holds the keys of litellm's table; `context_window` and `max_output` are in
    tokens, None if unknown."""

    model: str
    unit: Literal["USD", "relative units"]
    row: Mapping[str, Any]
    context_window: int | None = None
    max_output: int | None = None

    def cost(self, usage: Usage) -> float:
        """The price of one request."""
        return cost_of(usage, self.row) or 0.0

    def per_million(self) -> dict[str, float]:
        """The price of a million tokens of each kind, or how many units one token is; long prompts may cost more."""
        many = 1_000_000 if self.unit == "USD" else 1
        one = {name: Usage(**{name: 1}) for name in ("input", "cache_write", "cache_read", "output")}
        return {name: round(self.cost(usage) * many, 6) for name, usage in one.items()}


def prices_of(name: str) -> Prices:
    """The prices of the model `provider/name` (or `name`) by litellm's local table; relative ones where it has none."""
    provider, slash, model = name.partition("/")
    if not slash:
        provider, model = provider_of(name) or "", name
    row = find_row(provider, model)
    sizes = (limit(row, "max_input_tokens", "max_tokens"), limit(row, "max_output_tokens", "max_tokens"))
    if cost_of(Usage(input=1, output=1), row) is None:
        return Prices(name, "relative units", RELATIVE, *sizes)
    # only what is looked at: it is looked at once for each of many thousand requests
    kept = tuple(RELATIVE)
    used = {key: value for key, value in (row or {}).items() if isinstance(value, int | float) and key.startswith(kept)}
    return Prices(name, "USD", used, *sizes)


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a replay goes by: `context_window` of the model and `summary_tokens` in tokens, `ttl` of a provider's cache
    in seconds from the last request on. No model is asked: a summary has `summary_tokens`, at most half of its source.
    """

    prices: Prices
    window: WindowSpec = WindowSpec(5, 3)
    context_window: int = 200_000
    ttl: float = TTL
    summary_tokens: int = 3_000

    def summary(self, source: int) -> str:
        """A text in the place of a summary of so many tokens."""
        return " text" * max(1, min(self.summary_tokens, source // 2))


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it left: when (seconds since 1970), its messages, and the tokens of its answer; `condense` where it
    asked for a summary."""

    at: float
    messages: list[ApiMessage]
    output: int
    condense: bool = False


@dataclass(frozen=True, slots=True)
class SentTurn:
    """A turn's requests; `visible` completed interactions were in the last of them, word for word, after so many
    `reductions`."""

    number: int
    requests: tuple[Sent, ...]
    visible: int
    reductions: int


def _baseline(
    history: History, assumed: Assumed, spec: WindowSpec, *, playbook: bool = False, compact: bool = False
) -> Iterator[SentTurn]:
    """The last interactions, behind a system message with the playbook as it is when the turn begins; with `compact` a
    summary takes the place of all but the query when the model's window is nearly full."""
    past, start, summaries, counter = list[list[ApiMessage]](), 1, 0, history.counter
    for turn in history.turns:
        first = spec.first_kept(len(past), start)
        reductions, start, visible = int(first > start), first, len(past) - first + 1 - summaries
        kept = [history.system(turn if playbook else None), *(one for group in past[first - 1 :] for one in group)]
        query, sent = history.query(turn), list[Sent]()
        running = [query]
        for step in turn.steps:
            messages = [*kept, *running]
            tokens = history.fixed + counter.count_messages(messages[1:]) if compact and messages[2:] else 0
            if tokens * 100 >= assumed.context_window * _COMPACT_AT:
                summary = assumed.summary(tokens - history.fixed)
                asked = {"role": "user", "content": history.condense}
                sent.append(Sent(step.at, [*messages, asked], counter.count(summary)))
                past, running = [[{"role": "user", "content": summary}]], [query]
                kept, summaries, visible, reductions = [kept[0], *past[0]], 1, 0, reductions + 1
                messages = [*kept, query]
            sent.append(Sent(step.at, messages, history.output(step.reply)))
            running += after(step)
        past.append(running)
        yield SentTurn(turn.number, tuple(sent), visible, reductions)


_FULL = WindowSpec(mode="full")
# Other ways of keeping a session's context, to compare with the product's own.
POLICIES: dict[str, Callable[[History, Assumed], Iterator[SentTurn]]] = {
    "full": lambda history, assumed: _baseline(history, assumed, _FULL),
    "exact": lambda history, assumed: _baseline(history, assumed, WindowSpec(assumed.window.size), playbook=True),
    "slack": lambda history, assumed: _baseline(history, assumed, assumed.window, playbook=True),
    "compact90": lambda history, assumed: _baseline(history, assumed, _FULL, compact=True),
}


@dataclass(slots=True)
class Figures:
    """What a turn came to under a policy, or, with `turn` 0, all turns of a session. `input` are all tokens sent,
    `cached` those read from the cache; `over` counts requests larger than the model's window; `visible` are the
    completed interactions that the last request held word for word (the mean over a session); `cold`: the cache was
    gone."""

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
        """The part of the input that was read from the cache."""
        return self.cached / self.input if self.input else 0.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A session under one policy, turn by turn."""

    policy: str
    turns: list[Figures]

    def totals(self) -> Figures:
        """All turns together."""
        total = Figures(0, peak=max(turn.peak for turn in self.turns))
        for name in ("requests", "input", "cached", "output", "cost", "visible", "reductions", "over"):
            setattr(total, name, sum(getattr(turn, name) for turn in self.turns))
        total.visible /= len(self.turns)
        return total


def account(policy: str, turns: Iterable[SentTurn], history: History, assumed: Assumed) -> Replayed:
    """What the requests of a session come to, in their order. Cached are the messages that a request and the one before
    begin with; none where the pause was too long or they are too few."""
    meter = _Meter(history, assumed)
    return Replayed(policy, [meter.turn(turn) for turn in turns])


class _Meter:
    """Bills requests; it remembers the last one, message by message."""

    def __init__(self, history: History, assumed: Assumed) -> None:
        self._count, self._fixed, self._assumed = history.counter.count_message, history.fixed, assumed
        self._tools = self._fixed - self._count(history.system())
        self._last: list[ApiMessage] = []
        self._sums: list[int] = []  # tokens of the last request up to each of its messages
        self._at = float("-inf")

    def turn(self, turn: SentTurn) -> Figures:
        cold = not self._warm(turn.requests[0].at)
        figures = Figures(turn.number, cold, visible=turn.visible, reductions=turn.reductions)
        for sent in turn.requests:
            self._add(figures, sent)
        return figures

    def _warm(self, at: float) -> bool:
        return at - self._at < self._assumed.ttl

    def _add(self, figures: Figures, sent: Sent) -> None:
        prices, shared = self._assumed.prices, self._shared(sent.messages)
        tokens = self._sums[-1]
        cached = shared if self._warm(sent.at) and shared >= MINIMUM_PREFIX else 0
        # what is put into the cache is billed apart from plain input by some
        writes = "cache_creation_input_token_cost" in prices.row and tokens >= MINIMUM_PREFIX
        written = tokens - cached if writes else 0
        usage = Usage(tokens - cached - written, cache_read=cached, cache_write=written, output=sent.output)
        figures.requests += 1
        figures.input += tokens
        figures.cached += cached
        figures.output += sent.output
        figures.cost += prices.cost(usage)
        figures.peak = max(figures.peak, tokens)
        figures.over += tokens > self._assumed.context_window
        self._at = sent.at

    def _shared(self, messages: list[ApiMessage]) -> int:
        """Tokens of the prefix that these messages have in common with the last ones, which they replace."""
        pairs = enumerate(zip(self._last, messages, strict=False))
        same = next((n for n, (a, b) in pairs if a is not b and a != b), min(len(self._last), len(messages)))
        shared = self._sums[same - 1] if same else self._fixed if self._last else 0
        known = self._sums[:same] or [self._tools + self._count(messages[0])]
        self._sums = list(accumulate((self._count(m) for m in messages[len(known) :]), initial=known[-1]))
        self._sums = [*known[:-1], *self._sums]
        self._last = messages
        return shared


_ROWS, _NARROWEST = 20, 30
_SVG_COLUMNS, _LETTER, _LINE = 100, 9, 18  # pixels of a letter's width and of a line


def plot(replays: Sequence[Replayed], width: int) -> list[str]:
    """The lines of the plot, none longer than `width` columns (or the narrowest that can be drawn), each policy drawn
    with its first letter; a replay has one turn at least."""
    # late: only for a drawing
    import plotext  # noqa: PLC0415

    curves = {replayed.policy: _curve(replayed, max(_NARROWEST, width) // 3) for replayed in replays}
    values = [value for _, curve in curves.values() for value in curve]
    ticks = [n * 10**power for power in range(13) for n in (1, 2, 5)]
    shown = [tick for tick in ticks if min(values) <= tick <= max(values)][-_ROWS // 2 :] or [min(values)]
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plot_size(max(_NARROWEST, width), _ROWS)
    plotext.yscale("log")
    for name, (turns, curve) in curves.items():
        plotext.plot(turns, curve, marker=name[0], label=name)
        plotext.xticks([turns[0], turns[-1]])
    plotext.yticks(shown, [f"{tick:,}" for tick in shown])
    drawn = plotext.uncolorize(plotext.build()).splitlines()
    return ["input tokens a turn, by turn:", *(line.rstrip() for line in drawn)]


def _curve(replayed: Replayed, points: int) -> tuple[list[int], list[float]]:
    """Turns and their input tokens; where there are more turns than points, the mean of those that share one."""
    size = -(-len(replayed.turns) // points)
    shared = [replayed.turns[n : n + size] for n in range(0, len(replayed.turns), size)]
    return [some[-1].turn for some in shared], [max(1.0, sum(t.input for t in some) / len(some)) for some in shared]


def svg(replays: Sequence[Replayed], title: str) -> str:
    """The same drawing as a document."""
    lines = ["", f" {title}: a simulation", *plot(replays, _SVG_COLUMNS)]
    rows = "".join(f'<tspan x="0" y="{(n + 1) * _LINE}">{escape(line)}</tspan>\n' for n, line in enumerate(lines))
    size = f'width="{(_SVG_COLUMNS + 1) * _LETTER}" height="{(len(lines) + 1) * _LINE}"'
    text = 'font-family="monospace" font-size="15" fill="#1f2430" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n<text {text}>{rows}</text>\n</svg>\n'
    )
