"""Render the live region: the spinner line, the output of running calls, reasoning and the to-do list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from rich.console import RenderableType
from rich.text import Text

from swecli.repl.render.formatting import format_duration, one_line, sanitize
from swecli.repl.render.markdown import add_prefix, indent

_OUTPUT_ROWS = 4
_REASONING_ROWS = 3
_MAX_LINE = 300  # characters shown of a line of output
_MAX_BUFFER = 4_000  # characters kept of output or reasoning, of which the end is shown
_SPINNER_FRAMES, _FRAMES_PER_SECOND = "◐◓◑◒", 5
_ESC_HINT = " · Esc to interrupt"
_TODO_ROWS = 5


@dataclass(slots=True)
class _RunningCall:
    summary: str
    started_at: float
    output: str = ""


@dataclass(slots=True)
class Reasoning:
    """Streamed reasoning: the end of its text and its whole length in characters."""

    started_at: float
    text: str = ""
    length: int = 0

    def append(self, text: str) -> None:
        """Append a delta, truncating the beginning of the text."""
        self.length += len(text)
        self.text = (self.text + sanitize(text))[-_MAX_BUFFER:]

    def render_tail(self, width: int) -> Text:
        """Render the last lines, wrapped to `width` columns."""
        wrapped = [line for part in self.text.strip().split("\n") for line in wrap(part, max(2, width)) or [""]]
        return Text("\n".join(wrapped[-_REASONING_ROWS:]), style="reasoning")

    def render_summary(self, width: int, now: float) -> RenderableType:
        """Render duration, length and last lines, for the scrollback."""
        duration = format_duration((now - self.started_at) * 1000)
        title = Text(f"thought for {duration} · {self.length:,} characters\n", style="quiet")
        return add_prefix(title + self.render_tail(width - 4), "✻ ", "quiet")


@dataclass(slots=True)
class Activity:
    """The running calls, and the label to show while none runs. Times are seconds of `clock`."""

    clock: Callable[[], float]
    label: str = "Working"
    started_at: float = 0.0
    running: dict[str, _RunningCall] = field(default_factory=dict)

    def set_label(self, label: str) -> None:
        """Show a label, its seconds counted from now."""
        self.label, self.started_at = label, self.clock()

    def add_call(self, call_id: str, summary: str) -> None:
        """Add a running call."""
        self.running[call_id] = _RunningCall(summary, self.clock())

    def append_output(self, call_id: str, text: str) -> None:
        """Append output of a running call; ignore other calls."""
        if call := self.running.get(call_id):
            call.output = (call.output + text)[-_MAX_BUFFER:]

    def render_output(self) -> list[RenderableType]:
        """Render the last lines of output of each running call."""
        rows = _OUTPUT_ROWS if len(self.running) == 1 else 1
        lines = (
            line
            for call in self.running.values()
            for line in sanitize(call.output).rstrip("\n").split("\n")[-rows:]
            if line.strip()
        )
        return [indent(Text(line[:_MAX_LINE], "output"), 4) for line in lines]

    def render_spinner(self, width: int) -> Text:
        """Render `Run pytest -q · 12 s · Esc to interrupt` in at most `width` columns."""
        now, calls = self.clock(), list(self.running.values())
        started_at = min((call.started_at for call in calls), default=self.started_at)
        frame = _SPINNER_FRAMES[int(now * _FRAMES_PER_SECOND) % len(_SPINNER_FRAMES)]
        end = f" · {int(now - started_at)} s"
        summary = calls[0].summary if calls else self.label
        label = Text(f"Running {len(calls)} tools" if len(calls) > 1 else one_line(summary))
        if 2 + label.cell_len + len(end + _ESC_HINT) <= width or width >= 60:
            end += _ESC_HINT
        label.truncate(max(1, width - 2 - len(end)), overflow="ellipsis")
        return Text.assemble((f"{frame} ", "spinner"), label, (end, "quiet"))


def render_todos(todos: Sequence[Mapping[str, str]], rows: int, width: int) -> list[Text]:
    """Render the open to-dos in at most `rows` lines of `width` columns; [] if all are done."""
    pending = [todo for todo in todos if todo["status"] != "done"]
    rows = min(rows, _TODO_ROWS)
    if not pending or rows < 2:
        return []
    shown = pending if len(pending) < rows else pending[: rows - 2]
    lines = [Text(f"  to do · {len(todos) - len(pending)} of {len(todos)} done", "quiet")]
    for todo in shown:
        mark, style = ("[>]", "head") if todo["status"] == "in_progress" else ("[ ]", "")
        lines.append(Text(f"  {mark} {one_line(todo['text'])}", style))
    lines += [Text(f"  … {len(pending) - len(shown)} more", "quiet")] if len(shown) < len(pending) else []
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines
