"""Two small questions at the end of the screen: pick one of these, and say a line. They leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain
from textwrap import wrap

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, KeyPressEvent, merge_key_bindings
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from swecli.repl.render.sanitise import clean

ROWS = 10
"""Options that are shown at once; the rest is scrolled to."""
_STYLE = Style.from_dict({"title": "bold", "picked": "bold ansicyan", "mark": "", "quiet": "ansibrightblack"})
_ESCAPE_SECONDS = 0.05
_END = 10**9
_STEPS = {"up": -1, "down": 1, "c-p": -1, "c-n": 1, "pageup": -ROWS, "pagedown": ROWS, "home": -_END, "end": _END}


class _Chooser:
    """The state of one question and what it looks like."""

    def __init__(self, title: str, options: Sequence[str], default: int, marks: Sequence[str]) -> None:
        self.title = clean(title).strip()
        self.options = [clean(option, keep_newlines=False) for option in options]
        self.marks = marks
        self.at = min(max(0, default), len(options) - 1)
        self.top = 0
        self.line = 0  # on which line of what is drawn the picked option stands

    def move(self, by: int) -> None:
        """Go up or down; a step off one end comes back at the other."""
        count = len(self.options)
        self.at = (self.at + by) % count if abs(by) == 1 else min(max(0, self.at + by), count - 1)

    def draw(self) -> StyleAndTextTuples:
        """The title after an empty line, the options in view, and how many there are above and below."""
        self.top = min(max(self.top, self.at - ROWS + 1), self.at)
        end = min(self.top + ROWS, len(self.options))
        columns = max(20, get_app().output.get_size().columns)
        long = [wrap(line, columns) if len(line) > columns else [line] for line in self.title.splitlines()]
        lines = [("", ""), *(("class:title", line) for line in chain(*long))]
        if self.top:
            lines.append(("class:quiet", f"  {self.top} more above"))
        for index in range(self.top, end):
            if index == self.at:
                self.line = len(lines)
            lines += self._option(index)
        if end < len(self.options):
            lines.append(("class:quiet", f"  {len(self.options) - end} more below"))
        out: StyleAndTextTuples = []
        for style, line in lines:
            out += [("", "\n"), (style, line)] if out else [(style, line)]
        return out

    def _option(self, index: int) -> list[tuple[str, str]]:
        picked = index == self.at
        width = max(map(len, self.marks), default=-1) + 1
        lead = f"{'>' if picked else ' '} " + (f"{self.marks[index]:>{width - 1}} " if width else "")
        columns = max(20, get_app().output.get_size().columns)
        lines = wrap(self.options[index], columns, initial_indent=lead, subsequent_indent=" " * len(lead))
        return [("class:picked" if picked else "", line) for line in lines or [lead]]


async def choose(
    title: str,
    options: Sequence[str],
    default: int = 0,
    *,
    marks: Sequence[str] | None = None,
    keys: Mapping[str, int] | None = None,
    color: bool = True,
    keyboard: Input | None = None,
    output: Output | None = None,
) -> int | None:
    """Let the user pick one of `options`; its index, or None for Esc, Ctrl-D, and a terminal that is gone.

    `marks` stand before the options and pick them at once when typed (by default 1 to 9, where there are no more
    than that); `keys` are further keys that pick. Arrows, page keys, Home, End and Enter do the rest; Enter takes
    only what is on the screen. Ctrl-C raises CancelledError: the work is interrupted, not the question answered.
    """
    if not options:
        return None
    if marks is None:
        marks = [str(n + 1) for n in range(len(options))] if len(options) <= 9 else []
    chooser = _Chooser(title, options, default, marks)
    picks = {**{mark: index for index, mark in enumerate(marks) if len(mark) == 1}, **(keys or {})}
    if output is None and is_dumb_terminal():
        return await _choose_by_line(chooser, picks, keyboard)
    app = _application(chooser, picks, color, keyboard, output)
    try:
        return await app.run_async()
    except EOFError:
        return None
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None


async def ask_line(
    label: str, *, color: bool = True, keyboard: Input | None = None, output: Output | None = None
) -> str | None:
    """Let the user type one line; None for Esc. Ctrl-C raises CancelledError."""
    bindings = KeyBindings()

    @bindings.add("escape", eager=True)
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError())

    session: PromptSession[str] = PromptSession(
        key_bindings=bindings, input=keyboard, output=output, color_depth=_depth(color), erase_when_done=True
    )
    session.app.ttimeoutlen = _ESCAPE_SECONDS
    try:
        return (await session.prompt_async(f"{clean(label, keep_newlines=False)} ")).strip()
    except EOFError:
        return None
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None


def _application(
    chooser: _Chooser, picks: Mapping[str, int], color: bool, keyboard: Input | None, output: Output | None
) -> Application[int | None]:
    control = FormattedTextControl(chooser.draw, get_cursor_position=lambda: Point(0, chooser.line), show_cursor=False)
    window = Window(control, wrap_lines=True, dont_extend_height=True, always_hide_cursor=True)
    app: Application[int | None] = Application(
        Layout(window),
        key_bindings=_bindings(chooser, picks, window),
        style=_STYLE if color else None,
        color_depth=_depth(color),
        erase_when_done=True,
        input=keyboard,
        output=output,
    )
    app.ttimeoutlen = _ESCAPE_SECONDS
    return app


def _bindings(chooser: _Chooser, picks: Mapping[str, int], window: Window) -> KeyBindingsBase:
    bindings = KeyBindings()

    def seen() -> bool:
        """Whether the picked option is on the screen: nobody agrees to what was not drawn yet."""
        return window.render_info is not None and chooser.line in window.render_info.displayed_lines

    def bind_pick(key: str, index: int) -> None:
        @bindings.add(key, eager=True)
        def pick(event: KeyPressEvent) -> None:
            if window.render_info is not None:
                event.app.exit(result=index)

    for key, index in picks.items():
        bind_pick(key, index)

    @bindings.add("enter")
    def take(event: KeyPressEvent) -> None:
        if seen():
            event.app.exit(result=chooser.at)

    @bindings.add("escape", eager=True)
    @bindings.add("c-d")
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    @bindings.add("c-c")
    @bindings.add("<sigint>")
    def interrupt(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt())

    return merge_key_bindings([bindings, _movements(chooser)])


def _movements(chooser: _Chooser) -> KeyBindings:
    bindings = KeyBindings()

    def bind(key: str, by: int) -> None:
        bindings.add(key)(lambda event: chooser.move(by))

    for key, by in _STEPS.items():
        bind(key, by)
    return bindings


async def _choose_by_line(chooser: _Chooser, picks: Mapping[str, int], keyboard: Input | None) -> int | None:
    """The same question for a terminal that cannot move its cursor: the options, then a line to type."""
    marks = chooser.marks or [str(n + 1) for n in range(len(chooser.options))]
    answers = {**picks, **{mark: index for index, mark in enumerate(marks)}}
    shown = "\n".join(
        [chooser.title, *(f"{mark} {option}" for mark, option in zip(marks, chooser.options, strict=True))]
    )
    session: PromptSession[str] = PromptSession(input=keyboard)
    label = f"{shown.strip()}\n> "
    while True:
        try:
            typed = (await session.prompt_async(label)).strip()
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise asyncio.CancelledError from None
        if not typed:
            return None
        if typed in answers:
            return answers[typed]
        label = "> "


def _depth(color: bool) -> ColorDepth | None:
    return None if color else ColorDepth.DEPTH_1_BIT
