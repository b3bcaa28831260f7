"""Test that the log file is private, contains no secrets, and that a log that cannot be written stops nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.cli.startup import MAX_LOG_BYTES, _log_to
from tests.support.secrets import secrets


@pytest.fixture(autouse=True)
def restore_handlers() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.setLevel(level)
    for handler in [h for h in root.handlers if h not in before]:
        root.removeHandler(handler)
        handler.close()


def test_warnings_and_traces_are_written_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    _log_to(Path("x.log").absolute())
    logging.getLogger("a").info("no")
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("a").exception("yes")
    text = Path("x.log").read_text()
    assert "ERROR a: yes" in text
    assert "ValueError: why" in text
    assert "no" not in text.splitlines()[0]
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_the_file_is_the_user_s_alone_also_after_it_was_cut() -> None:
    _log_to(Path("x.log").absolute())
    for _ in range(3):
        logging.getLogger("a").warning("x" * (MAX_LOG_BYTES // 2))
    assert {p.name: p.stat().st_mode & 0o777 for p in Path.cwd().glob("x.log*")} == {"x.log": 0o600, "x.log.1": 0o600}


def test_nothing_logged_makes_no_file() -> None:
    _log_to(Path("x.log").absolute())
    assert not Path("x.log").exists()


def test_secrets_are_taken_out_of_messages_and_traces() -> None:
    _log_to(Path("x.log").absolute())
    for text, _ in secrets().values():
        try:
            raise ValueError(text)
        except ValueError:
            logging.getLogger("a").exception("it was %s", text)
    logged = Path("x.log").read_text()
    assert [name for name, (_, secret) in secrets().items() if secret in logged] == []
    assert "ValueError: [redacted: GitHub token]" in logged


def test_the_same_file_is_written_once() -> None:
    _log_to(Path("x.log").absolute())
    _log_to(Path("x.log").absolute())
    logging.getLogger("a").warning("once")
    assert Path("x.log").read_text().count("once") == 1


def test_a_file_that_cannot_be_written_disturbs_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    _log_to(Path("/dev/null/x.log"))
    logging.getLogger("a").warning("lost")
    assert capfd.readouterr() == ("", "")


def test_odd_letters_are_written_as_well_as_they_can_be() -> None:
    _log_to(Path("x.log").absolute())
    # Call the handler directly: pytest would put records that are logged normally into its report, which must be UTF-8.
    logging.getLogger().handlers[-1].handle(logging.LogRecord("a", logging.WARNING, "", 0, "half \udcff", (), None))
    assert "half ?" in Path("x.log").read_text()
