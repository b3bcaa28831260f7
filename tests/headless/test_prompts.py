"""Test reading prompts from arguments, from a pipe and from lines of JSON, and the errors for invalid ones."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swecli.headless.prompts import Prompt, _parse_line, read_piped, read_prompts
from swecli.models.errors import BadInput


@contextmanager
def pipe(*pieces: bytes) -> Iterator[int]:
    """Yield the reading end of a pipe into which the pieces are written before it is closed."""
    reading, writing = os.pipe()

    def write() -> None:
        for piece in pieces:
            os.write(writing, piece)
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    yield reading
    os.close(reading)
    writer.join()


async def collect_prompts(descriptor: int, first: str = "") -> list[str]:
    return [prompt.text async for prompt in read_prompts(Prompt(first), descriptor)]


async def test_a_single_prompt_is_yielded_unchanged() -> None:
    assert [p async for p in read_prompts(Prompt("a", "b"))] == [Prompt("a", "b")]


async def test_each_json_line_is_a_prompt_even_without_a_final_newline() -> None:
    with pipe(
        b'{"type":"us', b'er","text":"a\\nb"}\n\n  \n{"text":"\xc3\xa4","type":"user"}'
    ) as end:
        assert await collect_prompts(end) == ["a\nb", "ä"]


async def test_the_prompt_of_the_command_line_comes_first() -> None:
    with pipe(b'{"type":"user","text":"b"}\n') as end:
        assert await collect_prompts(end, "a") == ["a", "b"]
    with pipe() as end:
        assert await collect_prompts(end, "a") == ["a"]


async def test_a_line_that_the_check_refuses_ends_the_prompts() -> None:
    def check(text: str) -> None:
        if text.startswith("/"):
            raise BadInput(f"{text} is none.")

    with pipe(b'{"type":"user","text":"a"}\n{"type":"user","text":"/b"}\n') as end:
        lines = read_prompts(Prompt(""), end, check=check)
        assert (await anext(lines)).text == "a"
        with pytest.raises(BadInput, match="/b is none"):
            await anext(lines)


async def test_files_are_read_like_pipes() -> None:
    Path("in").write_text('{"type":"user","text":"a"}\n' * 3000)
    with Path("in").open("rb") as file:
        assert await collect_prompts(file.fileno()) == ["a"] * 3000


async def test_empty_input_is_an_error() -> None:
    with pipe(b"\n\n") as end, pytest.raises(BadInput, match="There is no prompt"):
        await collect_prompts(end)


async def test_a_folder_as_input_is_an_error() -> None:
    folder = os.open(".", os.O_RDONLY)
    with pytest.raises(BadInput, match="Is a directory"):
        await collect_prompts(folder)
    with pytest.raises(BadInput, match="Is a directory"):
        read_piped(folder, print)
    os.close(folder)


async def test_lines_before_an_invalid_one_are_read() -> None:
    with pipe(b'{"type":"user","text":"a"}\nno\n') as end:
        lines = read_prompts(Prompt(""), end)
        assert (await anext(lines)).text == "a"
        with pytest.raises(BadInput, match=r"Line 2 of the input is not JSON"):
            await anext(lines)


@pytest.mark.parametrize(
    "line",
    [
        b"no",
        b"[]",
        b"5",
        b'{"type":"result","text":"a"}',
        b'{"text":"a"}',
        b'{"type":"user"}',
        b'{"type":"user","text":5}',
        b'{"type":"user","text":" "}',
        b"\xff",
        pytest.param(b"[" * 100_000, id="deep"),
    ],
    ids=repr,
)
def test_an_invalid_line_is_an_error_with_its_number_and_an_example(line: bytes) -> None:
    with pytest.raises(BadInput, match=r"^Line 7 of the input .*Write lines like"):
        _parse_line(line[:100_000], 7)


async def test_a_line_above_the_size_limit_is_refused() -> None:
    with pipe(b"x" * 500) as end, pytest.raises(BadInput, match="longer than 100 bytes"):
        await anext(read_prompts(Prompt(""), end, max_bytes=100))


def test_piped_input_is_read_to_its_end() -> None:
    with pipe(b"  a\n", b"b \n") as end:
        assert read_piped(end, print) == "a\nb"
    with pipe(b"\xff\x00x") as end:
        assert read_piped(end, print) == "\ufffd\x00x"
    with pipe() as end:
        assert read_piped(end, print) == ""


def test_a_non_blocking_pipe_is_waited_for_with_a_notice() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        os.write(writing, b"late")
        os.close(writing)

    assert read_piped(reading, say, patience=0.0) == "late"
    os.close(reading)
    assert lines == [
        "swecli: Waiting for the piped input to end.  (To run without any: </dev/null)"
    ]


def test_a_pipe_that_nobody_closes_is_not_waited_for_if_there_is_a_prompt() -> None:
    reading, writing = os.pipe()
    lines: list[str] = []
    assert read_piped(reading, lines.append, is_needed=False, patience=0.1) == ""
    os.close(writing)
    os.close(reading)
    assert lines == [
        "swecli: Nothing was piped in within 0 s: goes on without.  (To say that there is nothing: </dev/null)"
    ]


@pytest.mark.parametrize("is_needed", [True, False])
def test_a_pipe_that_stays_open_behind_its_first_bytes_is_waited_for_with_a_notice(
    is_needed: bool,
) -> None:
    lines: list[str] = []
    script = "printf 'first '; sleep 0.5; printf last"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as slow:
        assert slow.stdout is not None
        descriptor = slow.stdout.fileno()
        text = read_piped(descriptor, lines.append, is_needed=is_needed, patience=0.1)
    assert text == "first last"
    assert "swecli: Waiting for the piped input to end." in lines[-1]


def test_what_a_program_of_a_pipeline_writes_late_is_waited_for() -> None:
    slow = subprocess.Popen(["sh", "-c", "sleep 0.5; echo late"], stdout=subprocess.PIPE)
    with slow:
        assert slow.stdout is not None
        descriptor = slow.stdout.fileno()
        assert read_piped(descriptor, print, is_needed=False, patience=0.0) == "late"


def test_piped_input_above_the_size_limit_is_refused() -> None:
    with pipe(b"x" * 101) as end, pytest.raises(BadInput, match="longer than 100 bytes"):
        read_piped(end, print, max_bytes=100)
