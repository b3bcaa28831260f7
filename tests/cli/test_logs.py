"""Test that the log file is private, contains no secrets, and that a log that cannot be written stops nothing."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.cli.logs import MAX_LOG_BYTES, internal_error, log_to
from swecli.config.paths import Paths
from tests.support.secrets import secrets


@pytest.fixture(autouse=True)
def restore_handlers() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    logging.getLogger("swecli").setLevel(logging.NOTSET)
    root.setLevel(level)
    for handler in [h for h in root.handlers if h not in before]:
        root.removeHandler(handler)
        handler.close()


def test_only_warnings_and_tracebacks_are_logged_and_nothing_is_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    log_to(Path("x.log").absolute())
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


def test_a_lower_level_adds_the_programs_own_records_and_not_those_of_libraries() -> None:
    log_to(Path("x.log").absolute(), "debug")
    logging.getLogger("swecli.headless").debug("the first request is not sent early")
    logging.getLogger("httpcore").debug("connect_tcp.started")
    text = Path("x.log").read_text()
    assert "DEBUG swecli.headless: the first request is not sent early" in text
    assert "connect_tcp" not in text


@pytest.mark.slow
def test_the_log_file_is_private_also_after_rotation() -> None:
    log_to(Path("x.log").absolute())
    for _ in range(3):
        logging.getLogger("a").warning("x" * (MAX_LOG_BYTES // 2))
    assert {p.name: p.stat().st_mode & 0o777 for p in Path.cwd().glob("x.log*")} == {
        "x.log": 0o600,
        "x.log.1": 0o600,
    }


def test_the_log_file_is_not_created_before_the_first_record() -> None:
    log_to(Path("x.log").absolute())
    assert not Path("x.log").exists()


def test_secrets_are_redacted_in_messages_and_tracebacks() -> None:
    log_to(Path("x.log").absolute())
    for text, _ in secrets().values():
        try:
            raise ValueError(text)
        except ValueError:
            logging.getLogger("a").exception("it was %s", text)
    logged = Path("x.log").read_text()
    assert [name for name, (_, secret) in secrets().items() if secret in logged] == []
    assert "ValueError: [redacted: GitHub token]" in logged


def test_setting_up_the_same_log_twice_writes_each_record_once() -> None:
    log_to(Path("x.log").absolute())
    log_to(Path("x.log").absolute())
    logging.getLogger("a").warning("once")
    assert Path("x.log").read_text().count("once") == 1


def test_a_log_that_cannot_be_written_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    log_to(Path("/dev/null/x.log"))
    logging.getLogger("a").warning("lost")
    assert capfd.readouterr() == ("", "")


def test_lone_surrogates_are_replaced_in_the_log() -> None:
    log_to(Path("x.log").absolute())
    # Call the handler directly: pytest would put records that are logged normally into its report, which must be UTF-8.
    logging.getLogger().handlers[-1].handle(
        logging.LogRecord("a", logging.WARNING, "", 0, "half \udcff", (), None)
    )
    assert "half ?" in Path("x.log").read_text()


def test_an_internal_error_is_logged_without_secrets_and_reported() -> None:
    Paths.find(os.environ).ensure()
    try:
        raise ValueError("password = hunter22x")
    except ValueError as error:
        problem = internal_error(error)
    log = Paths.find(os.environ).log
    assert str(log) in problem.hint
    assert problem.exit_code == 1
    assert "Traceback" in log.read_text()
    assert "hunter22x" not in log.read_text()


def test_an_internal_error_is_reported_even_if_it_cannot_be_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SWECLI_HOME", "~nobody-of-that-name")
    assert internal_error(ValueError("x")).message == "Internal error: ValueError: x."
