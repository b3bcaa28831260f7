"""Test the first lines, and waiting for the runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.errors import BadInput, SwecliError
from swecli.models.message import ModelChoice
from swecli.repl.dispatch import _wait_with_timer
from swecli.repl.render.formatting import short_path
from swecli.repl.repl import _banner, _describe_model, _format_error, _wrap_parts
from tests.support.runtime import make_start


def test_the_banner_names_the_demo_model_and_why_it_is_used() -> None:
    start = replace(
        make_start(Path.home()),
        choice=ModelChoice("demo", "no key found"),
        notices=("something odd",),
    )
    lines = _banner(start, color=False, width=100).splitlines()
    assert lines[0] == "swecli 0.2.0 · demo model (offline tour; no key found) · ~"
    assert lines[1] == "/help for commands · Shift+Tab to switch mode"
    assert lines[2] == "! something odd"


def test_a_model_is_named_with_the_reason_for_its_choice() -> None:
    assert (
        _describe_model("openai/gpt", "OPENAI_API_KEY is set")
        == "openai/gpt (OPENAI_API_KEY is set)"
    )
    assert _describe_model("openai/gpt", "") == "openai/gpt"


def test_escape_sequences_in_a_folder_name_are_not_printed() -> None:
    start = make_start(Path("/tmp/evil\x1b[31m"))
    assert "\x1b" not in _banner(start, color=False)
    assert "\x1b[31m" not in _banner(start, color=True)


@given(st.lists(st.text("ab ", min_size=1, max_size=30), min_size=1), st.integers(30, 100))
def test_the_banner_wraps_only_between_its_parts(parts: list[str], width: int) -> None:
    lines = _wrap_parts(parts, width)
    assert " · ".join(lines) == " · ".join(parts)
    assert all(len(line) <= width for line in lines)


def test_the_home_folder_is_shortened_to_a_tilde() -> None:
    assert short_path(Path.home()) == "~"
    assert short_path(Path.home() / "a" / "b") == "~/a/b"
    assert short_path(Path("/opt")) == "/opt"


def test_a_failure_is_one_line_with_its_hint() -> None:
    assert (
        _format_error(BadInput("It broke\nin two.", "Mend it."), color=False)
        == "✗ It broke in two. · Mend it.\n"
    )
    assert _format_error(SwecliError("It broke."), color=False) == "✗ It broke.\n"


class LiveRecorder(list[list[str]]):
    """Records the live lines of each drawing."""

    def show_live(self, lines: Sequence[str]) -> None:
        self.append(list(lines))


async def test_the_spinner_is_shown_while_waiting_and_then_removed() -> None:
    shown = LiveRecorder()
    await _wait_with_timer(asyncio.ensure_future(asyncio.sleep(0.15)), "starting", shown)
    assert "starting 0 s" in shown[0][-1]
    assert shown[-1] == []


async def test_a_finished_task_shows_no_spinner() -> None:
    shown = LiveRecorder()
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    await _wait_with_timer(done, "starting", shown)
    assert shown == [[]]


async def test_waiting_raises_the_error_of_the_task_and_cancelling_the_wait_keeps_the_task() -> (
    None
):
    slow = asyncio.ensure_future(asyncio.sleep(10))
    waiting = asyncio.ensure_future(_wait_with_timer(slow, "starting", LiveRecorder()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not slow.cancelled()
    slow.cancel()

    async def fail() -> None:
        raise BadInput("no")

    with pytest.raises(BadInput):
        await _wait_with_timer(asyncio.ensure_future(fail()), "starting", LiveRecorder())
