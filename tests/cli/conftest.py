"""Fixtures that run the command line in the test's own process."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from swecli.cli.main import run_safely
from tests.support.shell import CompletedRun, Run, check_output


@pytest.fixture(autouse=True)
def restore_process() -> Iterator[None]:
    """Restore the environment and the log handlers that a run changes."""
    root, environ = logging.getLogger(), dict(os.environ)
    before, level = list(root.handlers), root.level
    yield
    os.environ.clear()
    os.environ.update(environ)
    root.setLevel(level)
    for handler in [h for h in root.handlers if h not in before]:
        root.removeHandler(handler)
        handler.close()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run swecli's command line in this process."""

    def run_once(*argv: str) -> CompletedRun:
        capfd.readouterr()
        code = run_safely(list(argv))
        out, err = capfd.readouterr()
        return check_output(CompletedRun(code, out, err))

    return run_once
