"""Test the picker: search while typing, preview, and restoring the draft."""

from __future__ import annotations

import asyncio

from prompt_toolkit.input import create_pipe_input

from swecli.repl.input.picker import Picker
from swecli.repl.input.question import Option
from tests.support.typist import DOWN, ENTER, Typist
from tests.support.virtual_time import run_virtually

OPTIONS = [Option("Fix the parser"), Option("Write the docs"), Option("Review the parser")]
DETAILS = [
    ["> it fails on tabs", "Done."],
    ["> a tutorial", "Written."],
    ["> before the release", ""],
]


def test_every_typed_word_filters_by_label_and_details() -> None:
    async def matching_labels(text: str) -> list[str]:
        picker = Picker("Which?", OPTIONS, DETAILS)
        picker.update_draft(text)
        return [option.label for option in picker.options]

    async def check() -> None:
        assert await matching_labels("parser") == ["Fix the parser", "Review the parser"]
        assert await matching_labels("PARS rel") == ["Review the parser"]
        assert await matching_labels("tutorial") == ["Write the docs"]
        assert await matching_labels("") == [option.label for option in OPTIONS]
        assert await matching_labels("nothing") == []

    asyncio.run(check())


def test_the_details_of_the_selected_row_are_shown_and_the_picker_fits_the_screen() -> None:
    async def check() -> None:
        picker = Picker("Which?", OPTIONS, DETAILS)
        shown = [text for _, text in picker.render(60, 20)]
        assert "  │ > it fails on tabs" in shown
        assert "type to search" in " ".join(shown)
        picker.move(1)
        assert "  │ > a tutorial" in [text for _, text in picker.render(60, 20)]
        picker.update_draft("release")
        assert "1 of 3" in " ".join(text for _, text in picker.render(60, 20))
        for rows in range(1, 30):
            assert len(picker.render(30, rows)) <= max(rows, 2)

    asyncio.run(check())


def test_a_cut_preview_ends_in_an_ellipsis() -> None:
    async def check() -> list[str]:
        return [
            text
            for _, text in Picker("Which?", OPTIONS[:1], [["> " + "word " * 30]]).render(40, 20)
        ]

    assert asyncio.run(check())[-1].endswith("word …")


def pick(*keys: str, draft: str = "") -> tuple[int | None, str, list[str]]:
    """Type the keys in a picker; return the picked index, the draft afterwards and the submitted lines."""

    async def run() -> tuple[int | None, str, list[str]]:
        with create_pipe_input() as pipe:
            typist = Typist(pipe)
            running = asyncio.ensure_future(typist.prompt.run())
            await typist.type(*draft)
            asked = asyncio.ensure_future(typist.prompt.choose("Which?", OPTIONS, DETAILS))
            await asyncio.sleep(0.1)
            await typist.type(*keys)
            await asyncio.sleep(1.0)
            done = asked.done()
            asked.cancel()
            await asyncio.wait([asked])
            typist.prompt.end()
            await running
            return (asked.result() if done else -1), typist.prompt.buffer.text, typist.sent

    return run_virtually(run())


def test_enter_picks_the_selected_row_and_the_draft_is_restored() -> None:
    assert pick(ENTER) == (0, "", [])
    assert pick(*"docs", ENTER, draft="half a line") == (1, "half a line", [])
    assert pick(*"parser", DOWN, ENTER) == (2, "", [])
    assert pick(*"1", ENTER) == (-1, "", []), (
        "a digit is a word to search for, and no row contains it"
    )
    assert pick("\x1b", draft="half") == (None, "half", [])
