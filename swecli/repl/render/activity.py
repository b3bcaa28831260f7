"""What goes on at this moment, as the live region shows it; the single lines between the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from rich.console import RenderableType
from rich.text import Text

from swecli.models.events import TurnFinished, WindowApplied
from swecli.models.learning_events import PlaybookUpdated
from swecli.repl.render.formatting import format_dollars, one_line, sanitize
from swecli.repl.render.markdown import indented, prefixed

_STOPPED = {
    "max_turns": "stopped: reached the limit of requests per turn",
    "max_budget": "stopped: reached the cost limit",
    "loop": "stopped: the same calls kept repeating",
    "length": "stopped: the answer reached the length limit",
    "refusal": "stopped: the model refused to answer",
    "content_filter": "stopped: the service withheld the rest of the answer",
    "cancelled": "interrupted",
}


def duration(milliseconds: float) -> str:
    """A span of time: `0.4 s`, `12 s`, `3 min 05 s`."""
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def price(cost: float | None) -> str:
    """What something cost, in words where it is nothing or not known."""
    if cost is None:
        return "cost unknown"
    return format_dollars(cost) if cost else "no cost"


def closing(event: TurnFinished) -> RenderableType:
    """The quiet line under a turn; why it stopped, if it was not done."""
    parts = [duration(event.duration_ms)]
    if event.usage.total:
        parts.append(f"{event.usage.prompt:,} in / {event.usage.output + event.usage.reasoning:,} out")
    parts.append(price(event.cost))
    text = Text()
    if event.reason in _STOPPED:
        text.append(_STOPPED[event.reason], "warn").append(" · ", "quiet")
    return text.append(" · ".join(parts), "quiet")


def learned(event: PlaybookUpdated) -> RenderableType | None:
    """What changed in the playbook and what it cost, in one line; None where nothing did. What a model proposed and was
    not taken stands in the log; what the user asked for and was not taken is reported."""
    lines = [sanitize(line, keep_newlines=False).strip() for line in event.lines]
    lines += [] if event.tokens else [f"rejected: {one_line(line)}" for line in event.refused]
    if not lines:
        return None
    word = "learned" if event.added or event.removed else "playbook"
    more = f" · {len(lines) - 1} more: /playbook list --log" if len(lines) > 1 else ""
    return prefixed(Text(f"{word}: {lines[0]}{more} · {price(event.cost)}", style="learned"), "✎ ", "learned")


def windowed(event: WindowApplied) -> str:
    """What left the reflection window."""
    kept = "the last turn" if event.kept == 1 else f"the last {event.kept:,} turns"
    return f"keeping {kept} ({event.removed:,} older {'one' if event.removed == 1 else 'ones'} left out)"


_OUTPUT_ROWS = 4
_THOUGHT_ROWS = 3
_WIDEST = 300  # characters of a line that is coming
_KEPT = 4_000  # characters of output or thought that are kept for showing their end
_SIGNS, _FRAMES = "◐◓◑◒", 5  # of the spinner, and how many of them a second
_ESC = " · Esc to interrupt"
_TODO_ROWS = 5


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
        self.text = (self.text + sanitize(text))[-_KEPT:]

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
            lines = sanitize(at.output).rstrip("\n").split("\n")[-rows:]
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


def todo_lines(todos: Sequence[Mapping[str, str]], rows: int, width: int) -> list[Text]:
    """How many steps are done and those still open, in at most `rows` lines of `width` columns; [] where all are."""
    left = [one for one in todos if one["status"] != "done"]
    rows = min(rows, _TODO_ROWS)
    if not left or rows < 2:
        return []
    shown = left if len(left) < rows else left[: rows - 2]
    lines = [Text(f"  to do · {len(todos) - len(left)} of {len(todos)} done", "quiet")]
    for one in shown:
        at_work = one["status"] == "in_progress"
        lines.append(Text(f"  {'[>]' if at_work else '[ ]'} {one_line(one['text'])}", "head" if at_work else ""))
    lines += [Text(f"  … {len(left) - len(shown)} more", "quiet")] if len(shown) < len(left) else []
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines
