"""Test the list whose highlighted line several keys act on."""

from __future__ import annotations

import asyncio

from prompt_toolkit.input import create_pipe_input

from swecli.repl.input.action_list import ActionList
from swecli.repl.input.question import Option
from tests.support.typist import DOWN, ENTER, ESC, Typist
from tests.support.virtual_time import run_virtually

OPTIONS = [Option(f"T{number} · a turn of some length, to be cut") for number in (3, 2, 1)]
LETTERS = {"b": "sends it again", "p": "pins it"}
F4 = "\x1bOS"


def make_list(cursor: int = 0) -> ActionList:
    return ActionList("Turns", OPTIONS, "shows it", LETTERS, cursor=cursor, closing=[("f4",)])


def choose(
    *keys: str, draft: str = "", cursor: int = 0
) -> tuple[tuple[int, str] | None, str, list[str]]:
    """Type the keys in a list; return the choice, the draft afterwards and the submitted lines."""

    async def run() -> tuple[tuple[int, str] | None, str, list[str]]:
        with create_pipe_input() as pipe:
            typist = Typist(pipe)
            running = asyncio.ensure_future(typist.prompt.run())
            await typist.type(*draft)
            asked = asyncio.ensure_future(typist.prompt.choose_action(make_list(cursor)))
            await asyncio.sleep(0.1)
            await typist.type(*keys)
            choice = await asyncio.wait_for(asked, 5)
            typist.prompt.end()
            await running
            return choice, typist.prompt.buffer.text, typist.sent

    return run_virtually(run())


def test_a_key_acts_on_the_highlighted_line() -> None:
    assert choose(ENTER) == ((0, ""), "", [])
    assert choose(DOWN, "b") == ((1, "b"), "", [])
    assert choose(DOWN, DOWN, DOWN, "p") == ((2, "p"), "", [])
    assert choose("b", cursor=2) == ((2, "b"), "", [])


def test_other_keys_do_nothing_and_the_draft_is_restored() -> None:
    assert choose(*"xyz1", ENTER, draft="half a line") == ((0, ""), "half a line", [])


def test_esc_and_the_key_that_opened_it_close_it() -> None:
    assert choose(ESC, draft="half") == (None, "half", [])
    assert choose(F4) == (None, "", [])


def test_each_option_takes_one_line_and_the_keys_are_named() -> None:
    async def render() -> list[str]:
        return [text for _, text in make_list().render(24, 20)]

    lines = asyncio.run(render())
    assert "> T3 · a turn of some …" in lines
    assert "b sends it again" in " ".join(lines)
    assert all(len(line) <= 24 for line in lines)
