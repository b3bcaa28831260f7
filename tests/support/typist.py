"""A prompt with a question above its input line, and a typist: keys go through a pipe, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput, Output

from swecli.repl.footer import Footer
from swecli.repl.input.prompt import PromptLine
from swecli.repl.input.question import _QUIET_SECONDS, Option
from swecli.repl.line_queue import LineQueue
from tests.support.runtime import make_start
from tests.support.virtual_time import run_virtually

OPTIONS = [
    Option("yes", "1", "y"),
    Option("for longer", "2"),
    Option("no", "3", "n"),
    Option("instead", "4"),
    Option("always", "5", confirmation="Always allow run(make *), saved in rules.toml?"),
]
UP, DOWN, ENTER, ESC, CTRL_C, BACKSPACE = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\x7f"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"


class TerminalOutput(DummyOutput):
    """An output that, like real terminals, does not report the cursor's position."""

    def get_rows_below_cursor_position(self) -> int:
        raise NotImplementedError


class ResizableOutput(TerminalOutput):
    """An output of changing width that records the rows moved up before each erase, and the written text."""

    def __init__(self) -> None:
        self.columns, self.up, self.written = 100, [0], ""

    def get_size(self) -> Size:
        return Size(rows=40, columns=self.columns)

    def cursor_up(self, amount: int) -> None:
        self.up[-1] += amount

    def erase_down(self) -> None:
        self.up.append(0)

    def write(self, data: str) -> None:
        self.written += data


class ScriptedContext:
    """A program that only records the actions of its keys."""

    def __init__(self) -> None:
        self.queue, self.done, self.sent = LineQueue(), [], []  # type: tuple[LineQueue, list[str], list[str]]
        self.working = True

    def start_loading(self) -> None: ...

    def submit(self, run_prompt: str) -> None:
        self.sent.append(run_prompt)

    def is_command(self, line: str) -> bool:
        return line.startswith("/")

    def interrupt(self) -> None:
        self.done.append("interrupt")

    def steer(self, text: str) -> None:
        self.done.append(f"steer {text}")

    def leaving_stops(self) -> str:
        return "stops what is running" if self.working else ""

    def quit(self) -> None:
        self.done.append("leave")

    def unfold(self) -> None: ...

    def edit(self) -> None: ...

    footer = Footer("scripted/test", "ask", "5")


class NoCommands:
    async def commands(self) -> Sequence[tuple[str, Sequence[str], str]]:
        return ()

    async def values(self, name: str) -> Sequence[tuple[str, str]]:
        return ()


class Typist:
    """A prompt and the pipe that types into it."""

    def __init__(self, pipe: PipeInput, output: Output | None = None, **settings: Any) -> None:
        self.pipe, self.ctx = pipe, ScriptedContext()
        self.sent, start = self.ctx.sent, make_start(**settings)
        self.prompt = PromptLine(self.ctx, start, NoCommands(), pipe, output or TerminalOutput())  # type: ignore[arg-type]

    async def type(self, *keys: str, gap: float = 0.1) -> None:
        """Send one key after the other, `gap` seconds apart."""
        for key in keys:
            self.pipe.send_text(key)
            await asyncio.sleep(gap)

    async def answer(self, *keys: str, gap: float = 0.1) -> int | None:
        """Type the keys once a question accepts answers; return its answer, or None if the keys did not answer it."""
        asked = asyncio.ensure_future(self.prompt.choose("Run this?", OPTIONS, guarded=True))
        await asyncio.sleep(_QUIET_SECONDS + 0.1)
        await self.type(*keys, gap=gap)
        await asyncio.sleep(1.0)
        answered = asked.done()
        asked.cancel()
        await asyncio.wait([asked])
        return asked.result() if answered else None


def run_prompt(play: Callable[[Typist], Awaitable[None]]) -> Typist:
    async def run() -> Typist:
        with create_pipe_input() as pipe:
            typist = Typist(pipe)
            running = asyncio.ensure_future(typist.prompt.run())
            await asyncio.sleep(0.1)
            await play(typist)
            typist.prompt.end()
            await running
            return typist

    return run_virtually(run())


WORDS = [
    "why",
    "is",
    "that",
    "so",
    "slow",
    "maybe",
    "later",
    "also",
    "explain",
    "the",
    "code",
    "yes",
    "no",
    "1",
    "2",
    "3",
    "4",
    "y",
    "n",
    "ok",
    "1.",
    "first",
    "42",
]


def human_keys(chance: random.Random) -> Iterator[tuple[str, float]]:
    """Generate keys as people type them: words, Enter, digits, pastes and arrows, in bursts without long pauses."""
    for _ in range(chance.randint(1, 6)):
        kind = chance.choice(
            ["words", "words", "digit", "paste", "arrows", "enter", "correct", "alt"]
        )
        pace = chance.uniform(0.03, 0.3)
        if kind == "words":
            for letter in " ".join(chance.choices(WORDS, k=chance.randint(1, 5))):
                yield letter, min(_QUIET_SECONDS - 0.05, chance.expovariate(1 / pace))
        elif kind == "digit":
            yield chance.choice("1234"), pace
        elif kind == "paste":
            yield f"\x1b[200~{chance.choice(WORDS)}\x1b[201~", pace
        elif kind == "arrows":
            for _ in range(chance.randint(1, 5)):
                yield chance.choice([UP, DOWN, "\x1b[C", "\x1b[D"]), 0.04
        elif kind == "correct":
            yield BACKSPACE, pace
        elif kind == "alt":
            yield "\x1b" + chance.choice("1234"), pace
        if kind == "enter" or chance.random() < 0.3:
            yield ENTER, pace


def stream_answers(count: int, seed: int) -> list[int]:
    """Return the seeds of the key streams that answered a question shown while they were typed."""
    answered: list[int] = []

    async def play(typist: Typist) -> None:
        for number in range(count):
            chance = random.Random(seed + number)
            keys = list(human_keys(chance))
            comes_at = chance.randrange(len(keys))
            asked = None
            for place, (key, pause) in enumerate(keys):
                if place == comes_at:
                    asked = asyncio.ensure_future(
                        typist.prompt.choose("Run this?", OPTIONS, guarded=True)
                    )
                await typist.type(key, gap=pause)
            assert asked is not None
            if asked.done():
                answered.append(seed + number)
            asked.cancel()
            await asyncio.wait([asked])
            typist.prompt.buffer.reset()

    run_prompt(play)
    return answered
