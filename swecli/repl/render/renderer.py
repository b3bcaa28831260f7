"""Render the events of a turn: lines in the scrollback, and a live region with a spinner while work is in progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models import events
from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import BadInput
from swecli.repl.render import event_lines, tools
from swecli.repl.render.activity import Activity
from swecli.repl.render.aside import LIVE_ROWS, AsideView
from swecli.repl.render.excerpt import EXPAND_ALL, EXPANDED, Fold
from swecli.repl.render.reasoning import Reasoning
from swecli.repl.render.screen import Screen
from swecli.repl.render.stream import MarkdownStream
from swecli.repl.render.todo_lines import render_todos

_ROWS_BELOW = 3  # of the terminal, left to the input line, the footer and one row above
_LEAST_ROWS = 3  # of the live region, before the to-do list takes one
_FRAME_SECONDS = 0.1  # minimum between two drawings of the live region
# characters of streamed text that are rendered between two looks at the keys: 2 ms (`scripts/bench prompt`)
_PORTION = 1_000


class Renderer:
    """Renders the events of a turn in order; outside of `begin` and `end`, events are only printed.

    An asyncio task redraws the live region, if a loop runs; else the caller calls `draw`. `clock` returns seconds;
    `todos` is the session's to-do list, shown in the live region.
    """

    def __init__(
        self,
        screen: Screen,
        clock: Callable[[], float] = time.monotonic,
        todos: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self.screen = screen
        self._todos = todos
        self._clock = clock
        self._stop_hint = screen.keys.hint("interrupt", "to interrupt")
        self._expand_hint = screen.keys.hint("expand", "to expand")
        self._left_hint = screen.keys.hint("left_turns", "to list")
        self._activity = Activity(clock, self._stop_hint)
        self._stream: MarkdownStream | None = None
        self._is_retrying = False  # the running step was sent again
        self._unread = ""  # text that the stream has not got
        self._rendered: list[str] = []  # what it has completed since the last drawing
        self._waiting_remarks: list[RenderableType] = []  # printed when the stream ends
        self._reasoning: Reasoning | None = None
        self._folded: list[Fold] = []  # what this turn has folded, and was not expanded yet
        self._last_fold: Fold | None = None  # what was folded or expanded last
        self._unfolds = False  # nothing is folded from now on
        self._has_unfolded = False  # the last fold was expanded
        self._stops = 0  # how often the user has stopped a turn
        screen.on_fold = self.set_folded
        self._previewed: set[str] = set()  # ids of calls whose preview was printed
        self._decided_call = ""  # id of the call whose decision was printed last
        self._answered: set[str] = set()  # ids of calls whose result is the answer that was printed
        self._needs_gap = False  # an empty line comes before the next block
        self._after_remark = True  # the last print was a remark, so another one needs no empty line
        self._working = False
        self._aside: AsideView | None = (
            None  # a question beside the conversation that is being answered
        )
        self._paused = False
        self._drawn_at = float("-inf")
        self._ticker: asyncio.Task[None] | None = None

    def begin(self, label: str = "Working") -> None:
        """Begin a turn; the user's line is already printed."""
        self._activity = Activity(self._clock, self._stop_hint)
        self._activity.set_label(label)
        self._previewed.clear()
        self._answered.clear()
        self._folded.clear()
        self._last_fold = None
        self._needs_gap = True
        self._after_remark = True
        self._working = True
        self._paused = False
        self._start_ticker()
        self.draw(force=True)

    def _start_ticker(self) -> None:
        with suppress(RuntimeError):  # no running loop: the caller calls `draw`
            loop = asyncio.get_running_loop()
            self._ticker = self._ticker or loop.create_task(self._draw_periodically())

    def _stop_ticker(self) -> None:
        if self._ticker is not None and not self.is_working:
            self._ticker.cancel()
            self._ticker = None

    def begin_aside(self, question: str) -> AsideView | None:
        """Begin to show the answer to a question beside the conversation, while a turn runs or not; None if one is
        being answered already."""
        if self._aside is not None:
            if not self._aside.is_done:
                return None
            self._waiting_remarks.append(self._render_aside(self._aside))
        if not self._working:
            self._needs_gap = True
        stop_hint = self.screen.keys.hint("interrupt", "to stop this answer")
        self._aside = AsideView(question, self._clock, stop_hint, self.screen.print_count)
        self._start_ticker()
        self.draw(force=True)
        return self._aside

    def end_aside(self) -> None:
        """Print the answer to the question beside the conversation. As long as the turn's own answer is being written,
        it stays in the live region."""
        if self._aside is None:
            return
        self._aside.end()
        if self._stream is None:
            self._print_aside()
        self.draw(force=True)
        if not self.is_working:
            self.screen.show_live(None)
        self._stop_ticker()

    def _print_aside(self) -> None:
        """Print the answer beside the conversation if it has ended."""
        if self._aside is not None and self._aside.is_done:
            block = self._render_aside(self._aside)
            self._aside = None
            self._print_block(block)

    def _render_aside(self, view: AsideView) -> RenderableType:
        return view.render(self.screen.color, self._stream_width, self.screen.print_count)

    @contextmanager
    def working(self, label: str) -> Iterator[None]:
        """Show that work is in progress, and how to stop it, until the end of the context."""
        self.begin(label)
        try:
            yield
        finally:
            self.end()

    @property
    def is_working(self) -> bool:
        """Return True between `begin` and `end`, and while a question beside the conversation is answered."""
        return self._working or (self._aside is not None and not self._aside.is_done)

    def show(self, event: events.Event) -> None:
        print_count = self.screen.print_count
        self._handle(event)
        self.draw(force=self.screen.print_count != print_count)

    def end(self) -> None:
        """End the turn: print what is unfinished and clear the live region. Idempotent."""
        self._finish_streams()
        for call_id, call in self._activity.running.items():
            if self._decided_call != call_id:
                self._print_block(tools.render_summary(call.summary, "failed"))
            self.screen.line("  └ interrupted", "warn")
        self._stop_work()
        self._stop_ticker()

    def interrupt(self) -> None:
        """End the turn, and say that the user did."""
        self._stops += 1
        self.end()
        self._print_remark(Text("interrupted", style="quiet"))

    def show_approval(self, request: AskRequest) -> None:
        """Print the preview of a call that needs approval; the live region is empty until `show_decision`."""
        self._finish_streams()
        self._paused = True
        self.screen.show_live(None)
        self._previewed.add(request.call.id)
        if request.plan:
            self._print_block(Group(*tools.render_plan(request, self.screen.color)))
            return
        if self._unfolds:
            self._print_block(tools.render_approval(request, EXPANDED.lines, EXPAND_ALL))
            self._last_fold = tools.fold_approval(request)
            return
        self._print_block(tools.render_approval(request, hint=self._expand_hint))
        self.set_folded(tools.fold_approval(request))

    def show_decision(self, request: AskRequest, decision: Decision | None) -> None:
        """Print the user's decision; None if the question was cancelled. The result follows it without a summary."""
        self._decided_call = request.call.id
        if decision is not None:
            if request.choices is not None and decision.answer:
                self._answered.add(request.call.id)
            self.screen.print(tools.render_decision(request, decision, self.screen.link_root))
        self._paused = False
        self.draw(force=True)

    def set_folded(self, fold: Fold) -> None:
        """Let `unfold` and `print_whole` print what has just been printed in part."""
        self._folded.append(fold)
        self._last_fold = fold
        self._has_unfolded = False

    async def print_whole(self) -> None:
        """Print all of what was folded or expanded last, however long it is, until the user stops the turn. Raises
        BadInput if nothing was."""
        if self._last_fold is None:
            raise BadInput("There is no shortened output to expand.", "It works after a long one.")
        stops = self._stops
        pieces = takewhile(lambda _: self._stops == stops, self._last_fold.render_whole())
        await self.screen.print_in_portions(pieces)

    def unfold(self) -> None:
        """Expand what was folded last; the next time all that the turn has folded, and fold nothing from then on; the
        next time, fold again. What is too long for one print is named. Between turns an empty line is above already."""
        if not self._working:
            self._needs_gap = False
        self._unfold_next()
        if not self._working:
            self._needs_gap = False

    def _unfold_next(self) -> None:
        if self._unfolds:
            self._unfolds = False
            self.screen.note("outputs are folded again")
        elif self._folded and not self._has_unfolded:
            self._last_fold = self._folded.pop()
            self._print_block(self._last_fold.render_expanded(EXPANDED))
            self._has_unfolded = True
        else:
            limit = EXPANDED.share(max(1, len(self._folded)))
            for fold in self._folded:
                self._print_block(fold.render_expanded(limit))
            self._folded.clear()
            self._unfolds = True
            self._has_unfolded = False
            folds = self.screen.keys.hint("expand", "folds them")
            note = "outputs and thoughts are shown whole from now on"
            self.screen.note(f"{note} · {folds}" if folds else note)
        self.draw(force=True)

    def _handle(self, event: events.Event) -> None:
        match event:
            case events.TextDelta():
                self._append_text(event.text)
            case events.ReasoningDelta():
                self._append_reasoning(event.text)
            case events.ToolStarted():
                self._finish_streams()
                self._activity.add_call(event.call.id, event.summary)
            case events.UsageReported():
                self._activity.add_usage(event.usage)
            case events.ToolProgress():
                self._activity.append_output(event.call_id, event.text)
            case events.ToolFinished():
                self._finish_call(event)
            case events.StepStarted():
                self._finish_streams()
                self._is_retrying = False
                self._activity.set_label("Thinking")
            case events.FilesChanged() | events.TurnContinued():
                self._finish_streams()
                self._print_remark(event_lines.render_remark(event))
            case events.TurnFinished():
                self._finish_turn(event)
            case events.TurnFailed():
                self._finish_streams()
                self._stop_work()
                self._print_block(None)
                self.screen.error(event.error, event.hint)
            case events.StepRetried():
                self._show_retry(event)
            case _:
                self._print_remark(event_lines.render_remark(event, self._left_hint))

    def _show_retry(self, event: events.StepRetried) -> None:
        """Print the first retry of a step, and one that discards text; the live line counts the others."""
        self._finish_streams()
        if event.restart or not self._is_retrying:
            self._print_remark(event_lines.render_remark(event))
        self._is_retrying = True
        self._activity.set_label(f"{event.reason} · attempt {event.attempt}")

    def _append_text(self, text: str) -> None:
        if self._stream is None:
            if not text.strip():
                return
            self._finish_streams()
            self._print_block(None)
            self._activity.set_label("Writing")
            self._stream = MarkdownStream(self.screen.color)
        self._unread += text
        if not self._working:
            self._print_streamed()
        elif len(self._unread) >= _PORTION:
            self._render_streamed()

    def _append_reasoning(self, text: str) -> None:
        if self._reasoning is None:
            self._finish_streams()
            self._reasoning = Reasoning(self._clock())
        self._reasoning.append(text)

    def _finish_call(self, event: events.ToolFinished) -> None:
        self._finish_streams()
        self._activity.running.pop(event.call.id, None)
        self._activity.set_label("Working")
        was_previewed = event.call.id in self._previewed
        if was_previewed and event.result.denied:
            return  # the decision is printed
        if event.call.id in self._answered:
            return
        if self._unfolds:
            self._print_block(tools.render_expanded(event))
            self._last_fold = tools.fold_call(event)
            return
        self.set_folded(tools.fold_call(event))
        has_summary = self._decided_call != event.call.id
        block = tools.render_call(
            event,
            self.screen.link_root,
            approved=was_previewed,
            has_summary=has_summary,
            hint=self._expand_hint,
        )
        if has_summary:
            self._print_block(block)
        else:
            self.screen.print(block)
        self._decided_call = ""

    def _finish_turn(self, event: events.TurnFinished) -> None:
        self._finish_streams()
        self._stop_work()
        self._print_block(event_lines.render_turn_end(event))
        self._after_remark = True  # what was learned follows without an empty line

    def _print_block(self, block: RenderableType | None) -> None:
        """Print a block after an empty line, unless it is the first; None: only the empty line."""
        if self._needs_gap:
            self.screen.line()
        self._needs_gap = block is not None
        self._after_remark = False
        self._decided_call = ""
        if block is not None:
            self.screen.print(block)

    def _print_remark(self, remark: RenderableType | None) -> None:
        """Print a remark; consecutive ones have no empty line between them."""
        if remark is None:
            return
        if self._stream is not None:  # a line of the program does not stand inside of the answer
            self._waiting_remarks.append(remark)
            return
        if not self._after_remark and self._needs_gap:
            self.screen.line()
        self._after_remark = True
        self._decided_call = ""
        self.screen.print(remark)

    def _finish_streams(self) -> None:
        """Print the rest of the streamed reasoning or text."""
        if self._reasoning is not None:
            reasoning = self._reasoning
            self._reasoning = None
            self._print_block(reasoning.render_summary(self.screen.width, self._clock()))
            if self._unfolds:
                self.screen.print(reasoning.render_expanded())
            else:
                self.set_folded(Fold(reasoning.render_expanded, reasoning.render_whole))
        if self._stream is not None:
            self._print_streamed()
            self.screen.print_all(self._stream.finish(), self._stream_width)
            self._stream = None
            self._needs_gap = True
            self._activity.set_label("Working")
            remarks = self._waiting_remarks
            self._waiting_remarks = []
            for remark in remarks:
                self._print_remark(remark)
        if self._stream is None:
            self._print_aside()

    @property
    def _stream_width(self) -> int:
        """The columns of the live region, which has one less than the terminal. What is streamed is printed in the same
        ones: no line breaks elsewhere when it leaves the region."""
        return self.screen.width - 1

    def _render_streamed(self) -> None:
        """Render what the unread text completes; it is printed at the next drawing."""
        if self._stream is not None and self._unread:
            width = self._stream_width
            pieces = self._stream.feed(self._unread, width)
            self._unread = ""
            if pieces:
                self._rendered.append(self.screen.render(Group(*pieces), width))

    def _print_streamed(self) -> None:
        """Print what the text since the last drawing has completed."""
        self._render_streamed()
        if self._rendered:
            self.screen.write("".join(self._rendered))
            self._rendered.clear()

    def _stop_work(self) -> None:
        self._working = False
        self._activity.running.clear()
        self.screen.show_live(None)
        self.draw(force=True)  # what is answered beside the turn goes on

    def draw(self, force: bool = False) -> None:
        """Draw the live region; throttled unless `force`."""
        if not self.is_working or self._paused:
            return
        if force or self._clock() - self._drawn_at >= _FRAME_SECONDS:
            self._drawn_at = self._clock()
            self._print_streamed()
            rows = max(1, self.screen.height - _ROWS_BELOW)
            self.screen.show_live(self._render_live(rows), rows)

    def _render_live(self, rows: int) -> RenderableType:
        width = self._stream_width
        aside = self._aside.render_live(width) if self._aside is not None else []
        if not self._working:
            return Group(Text(""), *aside)
        if aside:
            rows = max(1, rows - LIVE_ROWS)
        line = render_todos(self._todos, width) if rows > _LEAST_ROWS else None
        todos = [line] if line is not None else []
        parts = self._activity.render_output()
        if self._reasoning is not None:
            parts.append(self._reasoning.render_tail(width - 2))
        if self._stream is not None:
            tail = self._stream.tail(rows - 1 - len(todos), width)
            parts += [tail] if tail is not None else []
        above = [Text("")] if self._needs_gap else []
        below = [Text("")] if parts or self._stream is not None else []
        if aside:
            aside.append(Text(""))
        return Group(*above, *parts, *below, *aside, *todos, self._activity.render_spinner(width))

    async def _draw_periodically(self) -> None:
        while True:
            await asyncio.sleep(_FRAME_SECONDS)
            self.draw()
