"""The command line without a process of its own: quick, and through the same door."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from swecli.cli.entry import run_safely
from tests.support.shell import Done, Run, checked


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run swecli's command line in this process; what it changes of the process is put back."""
    before, level = list(logging.getLogger().handlers), logging.getLogger().level
    environ = dict(os.environ)

    def once(*argv: str) -> Done:
        capfd.readouterr()
        code = run_safely(list(argv))
        out, err = capfd.readouterr()
        return checked(Done(code, out, err))

    yield once
    os.environ.clear()
    os.environ.update(environ)
    logging.getLogger().setLevel(level)
    for handler in [h for h in logging.getLogger().handlers if h not in before]:
        logging.getLogger().removeHandler(handler)
        handler.close()
