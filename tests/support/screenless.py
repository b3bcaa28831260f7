"""The REPL without a terminal: keys come from a pipe, the line editor draws nowhere, everything else is real."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.models.message import Ask
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
    """Keeps what is written as plain text, and nothing of the editor's drawing."""

    def __init__(self, file: io.StringIO) -> None:
        self.file = file

    def write_raw(self, data: str) -> None:
        self.file.write(data)

    def get_rows_below_cursor_position(self) -> int:
        raise NotImplementedError  # as with every real terminal


@dataclass
class Played:
    """A finished run: its exit code, all that was printed, the requests the model got, the REPL."""

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
) -> Played:
    """Type the keys into a REPL, let it run to its end. The last key must leave, or a hook must.

    `hooks` gets the pipe and the REPL before the run, for keys that depend on what happens.
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
        code = await asyncio.wait_for(repl.run(), 60)  # no run may hold up the suite
    return Played(code, printed.getvalue(), model, repl, built)
