"""Test terminal features beyond drawing (notifications, prompt marks), and in which terminals they are used."""

from __future__ import annotations

import asyncio

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input

from swecli.repl.render.terminal_features import (
    breaks_lines_when_narrowed,
    format_notification,
    notification_kind,
)
from swecli.repl.repl import REPL
from tests.support.runtime import make_start
from tests.support.screenless import play
from tests.support.typist import OPTIONS, TerminalOutput, Typist
from tests.support.virtual_time import run_virtually

MARKS = ("\x1b]133;A\x07", "\x1b]133;B\x07", "\x1b]133;C\x07", "\x1b]133;D\x07")


@pytest.mark.parametrize(
    ("environ", "known", "call"),
    [
        ({"TERM_PROGRAM": "WezTerm"}, "osc9", "\x1b]9;swecli: finished\x07"),
        ({"TERM": "foot-extra"}, "osc777", "\x1b]777;notify;swecli;finished\x07"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "bell", "\x07"),
        ({"TERM": "xterm-256color"}, "", "\x07"),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/x"}, "", "\x07"),
        ({"TERM_PROGRAM": "ghostty", "TERM": "screen-256color"}, "", "\x07"),
    ],
)
def test_known_terminals_get_their_own_notification_and_others_the_bell(
    environ: dict[str, str], known: str, call: str
) -> None:
    assert notification_kind(environ) == known
    assert format_notification("auto", environ, "finished") == call
    assert format_notification("off", environ, "finished") == ""
    assert format_notification("bell", environ, "finished") == "\x07"


async def test_only_a_long_turn_sends_a_notification() -> None:
    def leave_at_the_end(pipe: PipeInput, repl: REPL) -> None:
        async def quit() -> None:
            await repl.start_loading()
            while repl.working or repl.queue or repl.session_manager.totals().requests < 2:
                await asyncio.sleep(0.01)
            repl.quit()

        tasks.append(asyncio.ensure_future(quit()))

    tasks: list[asyncio.Task[None]] = []
    for seconds, calls in ((0, 1), (1000, 0)):
        start = make_start(notify="osc9", notify_after=seconds)
        played = await play("one\rtwo\r", ["1st", "2nd"], start=start, hooks=leave_at_the_end)
        assert played.text.count("\x1b]9;swecli: finished") == calls


async def test_known_terminals_get_prompt_marks_around_lines_and_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "\x1b]133" not in (await play("hello\rexit\r", ["Good day."])).text
    monkeypatch.setenv("TERM_PROGRAM", "WezTerm")
    text = (await play("hello\rexit\r", ["Good day."])).text
    places = [text.index(piece) for piece in (*MARKS[:2], "hello", MARKS[2], "Good day.", MARKS[3])]
    assert places == sorted(places)


def test_an_open_question_sends_one_notification_after_a_while_without_keys() -> None:
    class CountingOutput(TerminalOutput):
        calls = 0

        def write_raw(self, data: str) -> None:
            self.calls += data.count("\x1b]9;")

    async def count_calls(*seconds: float) -> list[int]:
        output, counts = CountingOutput(), []
        with create_pipe_input() as pipe:
            typist = Typist(pipe, output, notify="osc9")
            running = asyncio.ensure_future(typist.prompt.run())
            await typist.type("a", "\x7f")
            asked = asyncio.ensure_future(typist.prompt.choose("Run this?", OPTIONS, guarded=True))
            for pause in seconds:
                await asyncio.sleep(pause)
                counts.append(output.calls)
            asked.cancel()
            await asyncio.wait([asked])
            await asyncio.sleep(20)
            counts.append(output.calls)
            typist.prompt.end()
            await running
        return counts

    assert run_virtually(count_calls(9.5, 1, 20)) == [0, 1, 1, 1]
    assert run_virtually(count_calls(9.5)) == [0, 0]


@pytest.mark.parametrize(
    ("environ", "breaks"),
    [
        ({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "linux"}, False),
        ({"TERM": "screen"}, False),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, True),
        ({"TERM": "xterm-256color"}, True),
    ],
)
def test_some_terminals_cut_lines_when_they_become_narrow(
    environ: dict[str, str], breaks: bool
) -> None:
    assert breaks_lines_when_narrowed(environ) is breaks
