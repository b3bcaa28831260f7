"""What runs now: the spinner line and the last output of the running calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from rich.console import RenderableType
from rich.text import Text

from swecli.models.counts import format_tokens
from swecli.models.message import Usage
from swecli.repl.render.prefix import add_prefix
from swecli.text import one_line, sanitize
from swecli.values import dataclass

_OUTPUT_ROWS = 4
_MAX_TITLE = 44  # characters of a call, so that 80 columns have room for its output behind it
_LEAST_LABEL = 12  # columns of what runs, before how to stop it is left out: both fit in 40 columns
_MAX_LINE = 300  # characters shown of a line of output
_MAX_BUFFER = 4_000  # characters kept of output, of which the end is shown
_SPINNER_FRAMES = "◐◓◑◒"
_FRAMES_PER_SECOND = 5


@dataclass(slots=True)
class _RunningCall:
    summary: str
    started_at: float
    output: str = ""

    def last_lines(self, count: int) -> list[str]:
        """Return the last lines of the output, cut."""
        lines = sanitize(self.output).rstrip("\n").split("\n")
        return [line[:_MAX_LINE] for line in lines[-count:]]


def _render_in_one_line(call: _RunningCall) -> RenderableType:
    """Render `Task look for the cause · Search x in src` on one line, cut at the end of the screen."""
    text = Text(one_line(call.summary, _MAX_TITLE), no_wrap=True, overflow="ellipsis")
    [last] = call.last_lines(1)
    if last.strip():
        text.append(f" · {last.strip()}", "output")
    return add_prefix(text, "    ")


@dataclass(slots=True)
class Activity:
    """The running calls, and the label to show while none runs. Times are seconds of `clock`; `stop_hint` says how to
    stop, as in "Esc to interrupt", "" if nothing does."""

    clock: Callable[[], float]
    stop_hint: str = ""
    label: str = "Working"
    started_at: float = 0.0
    sent_tokens: int = 0  # tokens of the turn's requests
    received: int = 0  # tokens of their replies
    running: dict[str, _RunningCall] = field(default_factory=dict)

    def set_label(self, label: str) -> None:
        """Show a label, its seconds counted from now."""
        self.label = label
        self.started_at = self.clock()

    def add_usage(self, usage: Usage) -> None:
        """Count the tokens of a request."""
        self.sent_tokens += usage.prompt
        self.received += usage.output + usage.reasoning

    def add_call(self, call_id: str, summary: str) -> None:
        self.running[call_id] = _RunningCall(summary, self.clock())

    def append_output(self, call_id: str, text: str) -> None:
        """Append output of a running call; ignore other calls."""
        call = self.running.get(call_id)
        if call:
            call.output = (call.output + text)[-_MAX_BUFFER:]

    def render_output(self) -> list[RenderableType]:
        """Render the last lines of output of the running call; of several one line each, after what it is."""
        if len(self.running) > 1:
            return [_render_in_one_line(call) for call in self.running.values()]
        rendered: list[RenderableType] = []
        for call in self.running.values():
            for line in call.last_lines(_OUTPUT_ROWS):
                if line.strip():
                    rendered.append(add_prefix(Text(line, "output"), "    "))
        return rendered

    def render_spinner(self, width: int) -> Text:
        """Render `Run pytest -q · 12 s · ↑8.1k ↓320 · Esc to interrupt` in at most `width` columns, the tokens
        only where there is room."""
        now = self.clock()
        calls = list(self.running.values())
        started_at = min((call.started_at for call in calls), default=self.started_at)
        frame = _SPINNER_FRAMES[int(now * _FRAMES_PER_SECOND) % len(_SPINNER_FRAMES)]
        label = Text(self._summarize(calls))

        end = f" · {int(now - started_at)} s"
        tokens = f" · ↑{format_tokens(self.sent_tokens)} ↓{format_tokens(self.received)}"
        hint = f" · {self.stop_hint}" if self.stop_hint else ""
        if self.sent_tokens and 2 + label.cell_len + len(end + tokens + hint) <= width:
            end += tokens
        if 2 + min(label.cell_len, _LEAST_LABEL) + len(end + hint) <= width:
            end += hint
        label.truncate(max(1, width - 2 - len(end)), overflow="ellipsis")
        return Text.assemble((f"{frame} ", "spinner"), label, (end, "quiet"))

    def _summarize(self, calls: Sequence[_RunningCall]) -> str:
        if len(calls) > 1:
            return f"Running {len(calls)} tools"
        return one_line(calls[0].summary if calls else self.label)
