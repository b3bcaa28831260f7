"""Faults of the program itself."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from swecli.repl.crash import fault


def test_the_trace_goes_to_the_log_and_one_line_to_the_user(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise KeyError("lost")
    except KeyError as error:
        with caplog.at_level(logging.ERROR):
            told = fault(Path("/state/swecli.log"), error)
    assert (told.message, told.hint) == (
        "This is a fault of swecli: KeyError: 'lost'",
        "The details are in /state/swecli.log.",
    )
    assert "Traceback" in caplog.text


def test_a_message_without_an_exception_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert "odd" in fault(Path("log"), "odd").message
    assert "odd" in caplog.text
