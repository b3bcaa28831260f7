"""Test questions above the input line: only keys that are meant as an answer answer them."""

from __future__ import annotations

import asyncio

import pytest
from prompt_toolkit.input import create_pipe_input

from swecli.repl.input.action_list import ActionList
from swecli.repl.input.picker import Picker
from swecli.repl.input.question import _QUIET_SECONDS, Option, Question
from tests.support.typist import (
    BACKSPACE,
    CTRL_C,
    DOWN,
    ENTER,
    ESC,
    OPTIONS,
    PAGE_DOWN,
    PAGE_UP,
    UP,
    ResizableOutput,
    Typist,
    run_prompt,
    stream_answers,
)
from tests.support.virtual_time import run_virtually


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
        ((DOWN, UP, ENTER), 0),
        ((DOWN, UP, UP, ENTER), 0),
        ((*[DOWN] * 4, ENTER), 3),
        ((*[DOWN] * 9, UP, ENTER), 3),
        ((*[DOWN] * 9, ENTER, ENTER), 4),
        ((*[DOWN] * 9, ENTER, UP, ENTER), 3),
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
        (UP, ENTER),
        (UP, UP, UP, ENTER, ENTER),
        (*[DOWN] * 9, ENTER),
        (*[DOWN] * 9, ENTER, "x", ENTER),
        ("5", UP, ENTER),
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
            typist.prompt.choose("Sure?", OPTIONS, guarded=True, escape="for no")
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
        assert await typist.answer(DOWN, DOWN, DOWN, ENTER) == 2
        assert await typist.answer(*[DOWN] * 5, ENTER, ENTER) == 4
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


@pytest.mark.parametrize("rows", [1, 2, 4, 8, 20])
@pytest.mark.parametrize("columns", range(12))
def test_every_kind_of_question_can_be_drawn_in_a_window_of_a_few_columns(
    columns: int, rows: int
) -> None:
    async def run() -> None:
        for question in (
            Question("Run this?", OPTIONS, guarded=True),
            Question("What to do instead?"),
            Picker("Which one?", OPTIONS, [["one of the details"] for _ in OPTIONS]),
            ActionList("What was left out", OPTIONS, "shows it", {"b": "sends it again"}),
        ):
            question.mark_drawn()
            assert question.render(columns, rows)

    run_virtually(run())


@pytest.mark.parametrize(
    ("marks", "keys"), [("134", "a number"), ("afd", "a letter"), ("1e3", "a number or letter")]
)
@pytest.mark.parametrize("guarded", [True, False])
def test_the_hint_says_whether_numbers_or_letters_answer(
    marks: str, keys: str, guarded: bool
) -> None:
    async def run() -> None:
        question = Question("Go on?", [Option("option", mark) for mark in marks], guarded=guarded)
        question.mark_drawn()
        await asyncio.sleep(_QUIET_SECONDS + 1)
        shown = " ".join(line for _, line in question.render(100, 20))
        assert f"Answer with {keys} or" in shown.replace(",", "")

    run_virtually(run())


@pytest.mark.parametrize("keys", [("5",), (*[DOWN] * 5, ENTER)])
@pytest.mark.parametrize("size", [(100, 20), (40, 8)])
def test_an_answer_that_lasts_says_what_it_changes_before_it_is_confirmed(
    keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    async def play(typist: Typist) -> None:
        asked = asyncio.ensure_future(typist.prompt.choose("Run this?", OPTIONS, guarded=True))
        await asyncio.sleep(_QUIET_SECONDS + 0.1)
        await typist.type(*keys)
        assert typist.prompt.question is not None
        shown = " ".join(line for _, line in typist.prompt.question.render(*size))
        assert OPTIONS[4].confirmation in shown
        assert "Enter to confirm" in shown
        asked.cancel()

    run_prompt(play)


def test_a_question_that_was_hidden_asks_for_the_confirmation_again() -> None:
    async def run() -> None:
        question = Question("Run this?", OPTIONS, guarded=True)
        question.mark_drawn()
        await asyncio.sleep(_QUIET_SECONDS + 1)
        question.cursor = 4
        question._is_confirming = True
        question.close_again()
        assert "confirm" not in " ".join(line for _, line in question.render(100, 20))

    run_virtually(run())


def test_a_text_question_is_answered_by_the_typed_line() -> None:
    async def play(typist: Typist) -> None:
        asked = asyncio.ensure_future(typist.prompt.ask_text("What to do instead?"))
        await typist.type(*"use git rm", ENTER)
        assert await asked == "use git rm"

    assert run_prompt(play).sent == []


def test_a_text_to_begin_with_can_be_changed_and_gives_way_to_the_draft_afterwards() -> None:
    async def play(typist: Typist) -> None:
        typist.prompt.buffer.insert_text("a draft")
        asked = asyncio.ensure_future(typist.prompt.ask_text("What should it say?", "use tab"))
        await asyncio.sleep(0.1)
        await typist.type("s", ENTER)
        assert await asked == "use tabs"
        assert typist.prompt.buffer.text == "a draft"

    assert run_prompt(play).sent == []


@pytest.mark.parametrize(("key", "answer"), [(ENTER, "sk-1"), (ESC, None)])
def test_of_a_secret_nothing_is_left_in_the_input_line(key: str, answer: str | None) -> None:
    async def play(typist: Typist) -> None:
        typist.prompt.buffer.insert_text("a draft")
        asked = asyncio.ensure_future(typist.prompt.ask_secret("Your key?"))
        await asyncio.sleep(0.1)
        assert typist.prompt.buffer.text == "", "a draft is no part of it"
        await typist.type(*"sk-1")
        await typist.type(key, gap=0.5)
        assert await asked == answer
        assert typist.prompt.buffer.text == "a draft"

    assert run_prompt(play).sent == []


def test_escape_says_what_no_answer_leads_to() -> None:
    async def play(typist: Typist) -> None:
        for guarded, escape, hint in (
            (True, "", "Esc to interrupt"),
            (True, "for a new session", "Esc for a new session"),
            (False, "", "Esc to cancel"),
        ):
            asked = asyncio.ensure_future(
                typist.prompt.choose("Which?", OPTIONS, guarded=guarded, escape=escape)
            )
            await asyncio.sleep(_QUIET_SECONDS + 0.1)
            assert typist.prompt.question is not None
            assert hint in " ".join(line for _, line in typist.prompt.question.render(100, 20))
            asked.cancel()
            await asyncio.wait([asked])

    run_prompt(play)


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
            await asyncio.sleep(1.0)
            seen.extend([terminal.up[0] - above, terminal.written])
            asked.cancel()
            typist.prompt.end()
            await running

    run_virtually(run())
    while_changing, moved, gained, after = seen
    assert (while_changing, moved) == ("", [0]), "nothing is drawn while the size may still change"
    assert gained == 1, "the terminal has broken the long option into two rows"
    assert "Run this?" in str(after)
