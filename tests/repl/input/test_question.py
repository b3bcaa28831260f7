"""Test questions above the input line: only keys that are meant as an answer answer them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput, Output

from swecli.repl.footer import Footer
from swecli.repl.input.prompt import PromptLine
from swecli.repl.input.question import _QUIET_SECONDS, Option, Question
from swecli.repl.program import LineQueue
from tests.support.runtime import make_start
from tests.support.virtual_time import run_virtually

OPTIONS = [
    Option("yes", "1", "y"),
    Option("for longer", "2"),
    Option("no", "3", "n"),
    Option("instead", "4"),
    Option("always", "5", needs_enter=True),
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

    def interrupt(self) -> None:
        self.done.append("interrupt")

    def steer(self, text: str) -> None:
        self.done.append(f"steer {text}")

    def leaving_stops(self) -> str:
        return "stops what is running" if self.working else ""

    def quit(self) -> None:
        self.done.append("leave")

    def expand_last(self) -> None: ...

    def edit(self) -> None: ...

    footer = Footer("scripted/test", "ask", "5")


class NoCommands:
    async def commands(self) -> Sequence[tuple[str, Sequence[str], str]]:
        return ()

    async def values(self, name: str) -> Sequence[tuple[str, str]]:
        return ()


class Typist:
    """A prompt and the pipe that types into it."""

    def __init__(self, pipe: PipeInput, output: Output | None = None, **settings: str) -> None:
        self.pipe, self.ctx = pipe, ScriptedContext()
        self.sent, start = self.ctx.sent, make_start(**settings)
        self.prompt = PromptLine(self.ctx, start, NoCommands(), pipe, output or TerminalOutput())

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


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("1",), 0),
        (("2",), 1),
        (("3",), 2),
        (("4",), 3),
        (("y", ENTER), 0),
        (("n", ENTER), 2),
        (("5", ENTER), 4),
        ((DOWN, ENTER), 0),
        ((DOWN, DOWN, ENTER), 1),
        ((UP, ENTER), 4),
    ],
)
@pytest.mark.slow
def test_digits_letters_with_enter_and_arrows_answer_a_question(
    keys: tuple[str, ...], place: int
) -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(*keys) == place
        assert typist.prompt.buffer.text == "", "the key of an answer is not left in the line"

    assert run_prompt(play).sent == []


@pytest.mark.parametrize(
    "keys",
    [
        (ENTER,),
        (ENTER, ENTER),
        ("9",),
        ("x",),
        ("\x1b9",),
        ("yes",),
        ("1 more thing",),
        ("y",),
        ("n",),
        ("5",),
        (PAGE_DOWN, ENTER),
        (PAGE_UP, ENTER),
        (PAGE_DOWN, PAGE_DOWN, PAGE_UP, ENTER),
    ],
)
def test_enter_other_keys_and_words_do_not_answer(keys: tuple[str, ...]) -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(*keys) is None

    run_prompt(play)


@pytest.mark.parametrize("pause", [0.3, 0.6, 1.5])
def test_a_word_typed_slowly_does_not_answer_by_its_first_letter(pause: float) -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(*"yes", gap=pause) is None
        assert typist.prompt.buffer.text == "yes"

    run_prompt(play)


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.15, 0.29, 0.35, 0.6])
@pytest.mark.parametrize("typed", ["1", "2", "5", "y", "1. do it otherwise", "5\r", "\r"])
@pytest.mark.slow
def test_what_is_typed_after_escape_never_answers(typed: str, gap: float) -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(ESC, *typed, gap=gap) is None

    assert run_prompt(play).ctx.done == ["interrupt"]


def test_escape_and_a_digit_in_one_read_stop_and_do_not_answer() -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer("\x1b1") is None

    assert run_prompt(play).ctx.done == ["interrupt"]


def test_escape_at_a_question_beside_a_turn_is_no_answer_and_interrupts_nothing() -> None:
    async def play(typist: Typist) -> None:
        asked = asyncio.ensure_future(
            typist.prompt.choose("Sure?", OPTIONS, guarded=True, interrupts=False)
        )
        await asyncio.sleep(_QUIET_SECONDS + 0.1)
        await typist.type(ENTER, ESC)
        await asyncio.sleep(1.0)
        assert asked.result() is None

    assert run_prompt(play).ctx.done == []


@pytest.mark.parametrize("key", ["1", "5", "y"])
def test_escape_takes_back_a_key_that_has_not_answered_yet(key: str) -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(key, ESC, gap=0.4) is None
        assert typist.prompt.buffer.text == ""

    assert run_prompt(play).ctx.done == ["interrupt"]


def test_a_digit_right_after_escape_is_typed_into_the_draft_and_the_turn_is_interrupted() -> None:
    async def play(typist: Typist) -> None:
        await typist.type(*"see ")
        assert await typist.answer(ESC, "1", gap=0.1) is None
        assert typist.prompt.buffer.text == "see 1"

    assert run_prompt(play).ctx.done == ["interrupt"]


@pytest.mark.parametrize(
    "line",
    ["why is that so slow", "maybe later", "also explain the code", "1", "y", "no", "1\r2\r3"],
)
def test_a_line_being_typed_when_the_question_appears_is_sent_and_does_not_answer(
    line: str,
) -> None:
    async def play(typist: Typist) -> None:
        await typist.type(*line[:3])
        asked = asyncio.ensure_future(typist.prompt.choose("Run this?", OPTIONS, guarded=True))
        await typist.type(*line[3:], ENTER)
        assert not asked.done()
        asked.cancel()

    assert "\r".join(run_prompt(play).sent) == line


def test_a_digit_followed_by_more_text_does_not_answer() -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(*"1. fix the tests", gap=0.25) is None
        assert typist.prompt.buffer.text == "1. fix the tests"

    run_prompt(play)


def test_a_deleted_digit_does_not_answer() -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer("1", BACKSPACE) is None

    run_prompt(play)


def test_with_a_draft_digits_are_text_and_arrows_answer() -> None:
    async def play(typist: Typist) -> None:
        await typist.type(*"half a line")
        assert await typist.answer("1") is None
        assert typist.prompt.buffer.text == "half a line1"
        assert await typist.answer(DOWN, ENTER) == 0
        assert await typist.answer(UP, UP, UP, ENTER) == 2
        assert typist.prompt.buffer.text == "half a line1", "the draft is kept after the answers"

    assert run_prompt(play).sent == []


def test_text_typed_after_an_arrow_clears_the_selection() -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(DOWN, *"and then", ENTER) is None

    assert run_prompt(play).sent == ["and then"]


@pytest.mark.slow
def test_escape_and_ctrl_c_interrupt_and_do_not_answer() -> None:
    async def play(typist: Typist) -> None:
        assert await typist.answer(ESC, gap=0.5) is None
        assert await typist.answer(CTRL_C) is None

    assert run_prompt(play).ctx.done == ["interrupt", "interrupt"]


def test_closing_the_terminal_chooses_no_option() -> None:
    async def run() -> int | None:
        with create_pipe_input() as pipe:
            typist = Typist(pipe)
            running = asyncio.ensure_future(typist.prompt.run())
            asked = asyncio.ensure_future(typist.prompt.choose("Run this?", OPTIONS, guarded=True))
            await asyncio.sleep(1.0)
            pipe.close()
            await running
            return await asked

    assert run_virtually(run()) is None


def test_an_option_outside_the_screen_is_shown_before_it_can_be_chosen() -> None:
    async def run() -> None:
        question = Question("Run this?", OPTIONS, guarded=True)
        question.render(40, 2)
        question.answer(3)
        assert not question.result.done()
        assert any("instead" in line for _, line in question.render(40, 2))

    run_virtually(run())


def test_a_text_question_is_answered_by_the_typed_line() -> None:
    async def play(typist: Typist) -> None:
        asked = asyncio.ensure_future(typist.prompt.ask_text("What to do instead?"))
        await typist.type(*"use git rm", ENTER)
        assert await asked == "use git rm"

    assert run_prompt(play).sent == []


def test_a_list_that_the_user_requested_is_answered_at_once() -> None:
    async def play(typist: Typist) -> None:
        asked = asyncio.ensure_future(
            typist.prompt.choose("Which?", [Option(str(n), str(n)) for n in range(1, 10)])
        )
        await asyncio.sleep(0.1)
        await typist.type("7")
        assert await asked == 6
        asked = asyncio.ensure_future(
            typist.prompt.choose("Which?", [Option(str(n)) for n in range(50)])
        )
        await asyncio.sleep(0.1)
        await typist.type(DOWN, "\x1b[6~", ENTER)
        assert await asked == 11
        asked = asyncio.ensure_future(typist.prompt.choose("Which?", [Option("one")]))
        await asyncio.sleep(0.1)
        await typist.type(ESC, gap=0.5)
        assert await asked is None

    run_prompt(play)


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


@pytest.mark.slow
def test_two_hundred_random_key_streams_answer_no_question() -> None:
    assert stream_answers(200, seed=1000) == []


def test_after_a_resize_a_question_is_redrawn_once_from_its_first_row() -> None:
    terminal, seen = ResizableOutput(), list[object]()

    async def run() -> None:
        with create_pipe_input() as pipe:
            typist = Typist(pipe, terminal)
            running = asyncio.ensure_future(typist.prompt.run())
            asked = asyncio.ensure_future(
                typist.prompt.choose("Run this?", [Option("yes " * 22, "1")], guarded=True)
            )
            await asyncio.sleep(_QUIET_SECONDS + 0.5)
            drawn = typist.prompt.app.renderer.last_rendered_screen
            above = (
                drawn.get_cursor_position(typist.prompt.app.layout.current_window).y if drawn else 0
            )
            terminal.columns, terminal.up, terminal.written = 60, [0], ""
            typist.prompt.app._on_resize()
            typist.prompt.redraw()
            await asyncio.sleep(0.1)
            seen.extend([terminal.written, list(terminal.up)])
            await asyncio.sleep(0.5)
            seen.extend([terminal.up[0] - above, terminal.written])
            asked.cancel()
            typist.prompt.end()
            await running

    run_virtually(run())
    while_changing, moved, gained, after = seen
    assert (while_changing, moved) == ("", [0]), "nothing is drawn while the size may still change"
    assert gained == 1, "the terminal has broken the long option into two rows"
    assert "Run this?" in str(after)
