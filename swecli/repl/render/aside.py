"""A question beside the conversation: the end of its answer while it grows, and all of it in the scrollback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models import events
from swecli.models.message import Usage
from swecli.models.money import format_dollars
from swecli.repl.render.activity import Activity
from swecli.repl.render.formatting import format_duration
from swecli.repl.render.prefix import add_prefix
from swecli.repl.render.stream import MarkdownStream
from swecli.text import one_line, sanitize
from swecli.values import dataclass

_ROWS = 6  # of an answer that grows
LIVE_ROWS = _ROWS + 2  # of the live region at most, with the line below and an empty one
_MAX_TAIL = 4_000  # characters of its end that are drawn
_MAX_QUESTION = 200  # characters that are repeated above an answer
_BAR = "┆ "


@dataclass(slots=True)
class AsideView:
    """One question beside the conversation. `stop_hint` says how to stop it, "" if nothing does; `prints_before` is how
    much had been printed when it was asked."""

    question: str
    clock: Callable[[], float]
    stop_hint: str
    prints_before: int
    is_done: bool = False
    was_stopped: bool = False
    has_failed: bool = False  # the error is printed below
    _activity: Activity = field(init=False)
    _started_at: float = field(init=False)
    _duration: float = 0.0  # seconds
    _pieces: list[str] = field(default_factory=list)
    _tail: str = ""  # the end of the answer, which is drawn while it grows
    _usage: Usage = field(default_factory=Usage)
    _cost: float | None = 0.0

    def __post_init__(self) -> None:
        self._activity = Activity(self.clock, self.stop_hint)
        self._activity.set_label("Answering /btw")
        self._started_at = self.clock()

    def take(self, event: events.Event) -> None:
        """Add what an event says of the answer."""
        match event:
            case events.TextDelta():
                piece = sanitize(event.text)
                self._pieces.append(piece)
                self._tail = (self._tail + piece)[-_MAX_TAIL:]
            case events.StepRetried():
                self._activity.set_label(f"{event.reason} · attempt {event.attempt}")
                if event.restart:
                    self._pieces.clear()
                    self._tail = ""
            case events.UsageReported():
                self._usage += event.usage
                is_unknown = self._cost is None or event.cost is None
                self._cost = None if is_unknown else (self._cost or 0.0) + (event.cost or 0.0)

    def end(self) -> None:
        """Note that nothing more comes."""
        self.is_done = True
        self._duration = self.clock() - self._started_at

    def render_live(self, width: int) -> list[RenderableType]:
        """Render the last lines of the answer, and that it is being given."""
        wrapped: list[str] = []
        for line in self._tail.strip().split("\n"):
            wrapped += wrap(line, max(2, width - len(_BAR))) or [""]
        parts: list[RenderableType] = []
        if self._tail.strip():
            parts.append(_with_bar(Text("\n".join(wrapped[-_ROWS:]))))
        return [
            *parts,
            self._render_end() if self.is_done else self._activity.render_spinner(width),
        ]

    def render(self, color: bool, width: int, prints: int) -> RenderableType:
        """Render the whole answer, with its question if anything was printed since it was asked."""
        parts: list[RenderableType] = []
        if prints != self.prints_before:
            parts.append(Text(f"/btw {one_line(self.question, _MAX_QUESTION)}", style="quiet"))
        answer = "".join(self._pieces).strip()
        stream = MarkdownStream(color)
        pieces = [*stream.feed(answer, width - len(_BAR)), *stream.finish()]
        if pieces:
            parts.append(Group(*pieces))
        if not answer and not (self.was_stopped or self.has_failed):
            parts.append(Text("The model called a tool and gave no answer.", style="warn"))
        return Group(_with_bar(Group(*parts)), self._render_end()) if parts else self._render_end()

    def _render_end(self) -> Text:
        facts = ["not part of the conversation"]
        facts.append(format_duration(self._duration * 1000))
        if self._usage.total:
            received = self._usage.output + self._usage.reasoning
            facts.append(f"{self._usage.prompt:,} in / {received:,} out")
            facts.append("price not known" if self._cost is None else format_dollars(self._cost))
        end = Text()
        if self.was_stopped:
            end.append("interrupted", "warn").append(" · ", "quiet")
        return end.append(" · ".join(facts), "quiet")


def _with_bar(content: RenderableType) -> RenderableType:
    return add_prefix(content, _BAR, "quiet", rest=_BAR)
