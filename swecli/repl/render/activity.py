"""What goes on at this moment, as the live region shows it: output still coming, thoughts, and the spinner line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import wrap

from rich.console import RenderableType
from rich.text import Text

from swecli.repl.render.layout import indented, prefixed
from swecli.repl.render.lines import duration
from swecli.repl.render.sanitise import clean, one_line

_OUTPUT_ROWS = 4
_THOUGHT_ROWS = 3
_WIDEST = 300  # characters of a line that is coming
_KEPT = 4_000  # characters of output or thought that are kept for showing their end
_SIGNS, _FRAMES = "◐◓◑◒", 5  # of the spinner, and how many of them a second
_ESC = " · Esc to interrupt"


@dataclass(slots=True)
class _Running:
    """A call at work; `since` on the renderer's clock."""

    summary: str
    since: float
    output: str = ""


@dataclass(slots=True)
class Thought:
    """Reasoning as it comes; only its end is kept, its length is counted."""

    since: float
    text: str = ""
    length: int = 0

    def add(self, text: str) -> None:
        """Take a piece."""
        self.length += len(text)
        self.text = (self.text + clean(text))[-_KEPT:]

    def lines(self, width: int) -> Text:
        """The last lines, wrapped to `width`."""
        wrapped = [line for part in self.text.strip().split("\n") for line in wrap(part, max(2, width)) or [""]]
        return Text("\n".join(wrapped[-_THOUGHT_ROWS:]), style="reasoning")

    def folded(self, width: int, now: float) -> RenderableType:
        """What stays on the screen of it."""
        size = f"{self.length:,} characters"
        title = Text(f"thought for {duration((now - self.since) * 1000)} · {size}\n", style="quiet")
        return prefixed(title + self.lines(width - 4), "✻ ", "quiet")


@dataclass(slots=True)
class Activity:
    """What the spinner line names: the calls at work, else `label`. Times are the clock's seconds."""

    clock: Callable[[], float]
    label: str = "Working"
    begun: float = 0.0
    since: float = 0.0
    running: dict[str, _Running] = field(default_factory=dict)

    def begin(self, label: str) -> None:
        """A turn, or a step of it, begins."""
        self.label, self.since = label, self.clock()
        self.begun = self.begun or self.since

    def start(self, call_id: str, summary: str) -> None:
        """A call begins to run."""
        self.running[call_id] = _Running(summary, self.clock())

    def progress(self, call_id: str, text: str) -> None:
        """A running call has written something."""
        if call_id in self.running:
            at = self.running[call_id]
            at.output = (at.output + text)[-_KEPT:]

    def output(self) -> list[RenderableType]:
        """The last lines of what runs; the call's name before them if there are several."""
        drawn: list[RenderableType] = []
        for at in self.running.values():
            rows = _OUTPUT_ROWS if len(self.running) == 1 else 1
            lines = clean(at.output).rstrip("\n").split("\n")[-rows:]
            drawn += [indented(Text(line[:_WIDEST], "output"), 4) for line in lines if line.strip()]
        return drawn

    def spinner(self, width: int) -> Text:
        """`Run pytest -q · 12 s · Esc to interrupt` in at most `width` columns."""
        now = self.clock()
        since = min((at.since for at in self.running.values()), default=self.since)
        sign = _SIGNS[int((now - self.begun) * _FRAMES) % len(_SIGNS)]
        end = f" · {int(now - since)} s"
        at_work = [at.summary for at in self.running.values()] or [self.label]
        label = Text(one_line(at_work[0]) if len(at_work) == 1 else f"Running {len(at_work)} tools")
        if 2 + label.cell_len + len(end + _ESC) <= width or width >= 60:
            end += _ESC
        label.truncate(max(1, width - 2 - len(end)), overflow="ellipsis")
        return Text.assemble((f"{sign} ", "spinner"), label, (end, "quiet"))
