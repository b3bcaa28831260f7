"""The REPL without a terminal: keys come from a pipe and the line editor draws nowhere; all else is real."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.models.approval import Ask
from swecli.repl.repl import REPL
from tests.support.runtime import make_start
from tests.support.scripted import ScriptedModel

ENTER, ESC, CTRL_C, CTRL_D, CTRL_J, CTRL_O, SHIFT_TAB, UP = (
    "\r",
    "\x1b",
    "\x03",
    "\x04",
    "\n",
    "\x0f",
    "\x1b[Z",
    "\x1b[A",
)


class PlainOutput(DummyOutput):
    """An output that keeps written text and discards the editor's drawing."""

    def __init__(self, file: io.StringIO) -> None:
        self.file = file

    def write_raw(self, data: str) -> None:
        self.file.write(data)

    def get_rows_below_cursor_position(self) -> int:
        raise NotImplementedError  # as in real terminals


@dataclass
class ReplRun:
    """A finished run: its exit code, its output, the model with its requests, and the REPL."""

    code: int
    text: str
    model: ScriptedModel
    repl: REPL
    runtimes: list[Runtime] = field(default_factory=list)


async def play(
    keys: str,
    replies: Iterable[Any] = (),
    *,
    start: Start | None = None,
    build: Callable[[Start, Ask], Runtime] | None = None,
    hooks: Callable[[PipeInput, REPL], None] | None = None,
) -> ReplRun:
    """Type the keys into a REPL and run it to its end, which the last key or a hook must cause.

    `hooks` is called with the pipe and the REPL before the run, for keys that depend on events.
    """
    model = ScriptedModel(replies)
    built: list[Runtime] = []

    def build_it(begun: Start, ask: Ask) -> Runtime:
        runtime = (build or (lambda b, a: build_runtime(b, a, model=model)))(begun, ask)
        built.append(runtime)
        return runtime

    printed = io.StringIO()
    with create_pipe_input() as pipe, redirect_stdout(printed):
        repl = REPL(start or make_start(), pipe, PlainOutput(printed), build_it)
        if hooks:
            hooks(pipe, repl)
        pipe.send_text(keys)
        code = await asyncio.wait_for(repl.run(), 60)  # A run that hangs must not block the suite.
    for thread in threading.enumerate():
        if (
            thread.name == "swecli-load"
        ):  # it may still build what the run no longer needs, and closes it
            await asyncio.to_thread(thread.join)
    return ReplRun(code, printed.getvalue(), model, repl, built)
