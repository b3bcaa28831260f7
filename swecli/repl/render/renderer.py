"""Draws a turn as it happens: every event has its lines, and while work goes on the last line names what runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models.events import (
    ContextReduced,
    Event,
    Notice,
    ReasoningDelta,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    WindowApplied,
)
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed, describe_event
from swecli.models.message import AskRequest, Decision
from swecli.models.review_events import ReviewEvent
from swecli.repl.render import activity, review_view, tools
from swecli.repl.render.activity import Activity, Thought, todo_lines
from swecli.repl.render.formatting import one_line
from swecli.repl.render.screen import MarkdownStream, Screen

_LIVE_ROWS = 12  # lines of what goes on now, at most: more would only jump, and each key draws them again
FRAME = 0.1  # seconds between two drawings of the live region, at least


class Renderer:
    """Takes a turn's events in their order. `show` outside of `begin` and `end` just prints. While a loop runs, a task
    of it keeps the spinner turning; without one, call `draw`. `clock` in seconds; `todos` is the session's to-do list,
    in view while work goes on."""

    def __init__(
        self,
        screen: Screen,
        clock: Callable[[], float] = time.monotonic,
        todos: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self.screen, self._todos = screen, todos
        self._clock = clock
        self._activity = Activity(clock)
        self._stream: MarkdownStream | None = None
        self._thought: Thought | None = None
        self._last: ToolFinished | None = None
        self._asked: set[str] = set()  # calls whose preview is on the screen
        self._answered = ""  # the call whose approval is the last thing on the screen
        self._has_text = False  # whether the turn has put out text
        self._gap = False  # whether the next thing is set off by an empty line
        self._aside = True  # whether what stands above is a passing remark, which another one may follow directly
        self._working = self._paused = False
        self._drawn_at = float("-inf")
        self._ticker: asyncio.Task[None] | None = None

    def begin(self, label: str = "Working") -> None:
        """A turn begins; the user's line is already on the screen."""
        self._activity = Activity(self._clock)
        self._activity.begin(label)
        self._asked.clear()
        self._has_text, self._gap, self._aside = False, True, True
        self._working, self._paused = True, False
        with suppress(RuntimeError):  # no loop: whoever drives us calls `draw`
            self._ticker = self._ticker or asyncio.get_running_loop().create_task(self._tick_on())
        self.draw(now=True)

    def show(self, event: Event) -> None:
        """Draw one event."""
        printed = self.screen.printed
        self._take(event)
        self.draw(now=self.screen.printed != printed)

    def end(self) -> None:
        """The turn is over, however it went: print what is left, take the live region away. May be called twice."""
        self._settle()
        for call_id, at in list(self._activity.running.items()):
            if self._answered != call_id:
                self._put(tools.head(at.summary, "failed"))
            self.screen.line("  └ interrupted", "warn")
        self._rest()
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None

    def show_approval(self, request: AskRequest) -> None:
        """Show all of what a call would do, before its approval. Nothing is live until `show_decision`."""
        self._settle()
        self._paused = True
        self.screen.show_live(None)
        self._asked.add(request.call.id)
        self._put(tools.question(request))

    def show_decision(self, request: AskRequest, decision: Decision | None) -> None:
        """The line that stays of an approval; None where it was broken off."""
        if decision is not None:
            self._answered = request.call.id
            self.screen.print(tools.answered(request, decision, self.screen.link_root))
        self._paused = False
        self.draw(now=True)

    def expand_last(self) -> bool:
        """Print all of the last tool's output; False if there was none yet."""
        if self._last is None:
            return False
        self._put(tools.whole(self._last.summary, self._last.call, self._last.result))
        self.draw(now=True)
        return True

    def _take(self, event: Event) -> None:  # noqa: C901, PLR0912  one arm for each event
        match event:
            case TextDelta():
                self._text(event.text)
            case ReasoningDelta():
                self._reason(event.text)
            case ToolStarted():
                self._settle()
                self._activity.start(event.call.id, event.summary)
            case ToolProgress():
                self._activity.progress(event.call_id, event.text)
            case ToolFinished():
                self._tool(event)
            case StepStarted():
                self._settle()
                self._activity.begin("Thinking")
            case TurnFinished():
                self._finished(event)
            case TurnFailed():
                self._settle()
                self._rest()
                self._put(None)
                self.screen.error(event.error, event.hint)
            case StepRetried() | ContextReduced() | ReflectionFailed() | Notice():
                if isinstance(event, StepRetried):
                    self._settle()
                warn = isinstance(event, ReflectionFailed) or (isinstance(event, Notice) and event.level == "warning")
                self._remark(one_line(describe_event(event), 2_000), warn=warn)
            case WindowApplied():
                self._remark(activity.windowed(event) if event.removed else "")
            case PlaybookUpdated():
                self._remark(activity.learned(event))
            case ReviewEvent():
                self._remark(review_view.drawn(event))

    def _text(self, text: str) -> None:
        if self._stream is None:
            if not text.strip():
                return
            self._settle()
            self._put(None)
            self._activity.begin("Writing")
            self._stream = MarkdownStream(self.screen)
            self._has_text = True
        self._stream.feed(text)

    def _reason(self, text: str) -> None:
        if self._thought is None:
            self._settle()
            self._thought = Thought(self._clock())
        self._thought.add(text)

    def _tool(self, event: ToolFinished) -> None:
        self._settle()
        self._activity.running.pop(event.call.id, None)
        self._activity.begin("Working")
        asked = event.call.id in self._asked
        self._last = event
        if asked and event.result.denied:
            return  # the approval has left its line
        under = self._answered == event.call.id
        if not under:
            state, shown = tools.state_of(event.result), event.result.for_user
            self._put(tools.head(event.summary, state, event.call, shown, self.screen.link_root))
        drawing = tools.outcome(event.summary, event.call, event.result, seen=asked, headless=under)
        self._answered = ""
        if drawing is not None:
            self.screen.print(drawing)

    def _finished(self, event: TurnFinished) -> None:
        self._settle()
        self._rest()
        if event.text.strip() and not self._has_text:
            self._put(None)
            self.screen.markdown(event.text.strip())
        self._put(activity.closing(event))
        self._aside = True  # what was learned comes right under it

    def _put(self, drawing: RenderableType | None) -> None:
        """Something that stands by itself: an empty line before it, if there is anything above."""
        if self._gap:
            self.screen.line()
        self._gap, self._aside, self._answered = drawing is not None, False, ""
        if drawing is not None:
            self.screen.print(drawing)

    def _remark(self, remark: str | RenderableType | None, warn: bool = False) -> None:
        """A line in passing; several in a row stand together."""
        if not remark:
            return
        if not self._aside and self._gap:
            self.screen.line()
        self._aside, self._answered = True, ""
        if not isinstance(remark, str):
            self.screen.print(remark)
        else:
            (self.screen.warn if warn else self.screen.note)(remark)

    def _settle(self) -> None:
        """What was streaming is finished: print the rest of it."""
        if self._thought is not None:
            self._put(self._thought.folded(self.screen.width, self._clock()))
            self._thought = None
        if self._stream is not None:
            self._stream.finish()
            self._stream, self._gap = None, True
            self._activity.begin("Working")

    def _rest(self) -> None:
        self._working = False
        self._activity.running.clear()
        self.screen.show_live(None)

    def draw(self, now: bool = False) -> None:
        """Draw the live region again if it is time, or `now`."""
        if not self._working or self._paused:
            return
        if now or self._clock() - self._drawn_at >= FRAME:
            self._drawn_at = self._clock()
            rows = max(1, min(_LIVE_ROWS, self.screen.height - 3))
            self.screen.show_live(self._now(rows), rows)

    def _now(self, rows: int) -> RenderableType:
        width = self.screen.width - 1
        todo = todo_lines(self._todos, rows - 2, width)
        parts = self._activity.output()
        if self._thought is not None:
            parts.append(self._thought.lines(width - 2))
        tail = self._stream.tail(rows - 1 - len(todo)) if self._stream is not None else None
        parts += [tail] if tail is not None else []
        above = [Text("")] if self._gap else []
        below = [Text("")] if parts or self._stream is not None else []
        return Group(*above, *parts, *below, *todo, self._activity.spinner(width))

    async def _tick_on(self) -> None:
        while True:
            await asyncio.sleep(FRAME)
            self.draw()
