"""Test that a subcommand of an action leaves the store closed if it cannot begin."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from swecli.cli.subcommands import run_subcommand
from swecli.config.paths import Paths
from swecli.models.errors import BadInput, SwecliError
from tests.support.databases import OPENED
from tests.support.shell import Run


def test_the_store_is_closed_if_the_session_is_unknown(run: Run) -> None:
    assert run("-p", "hello", "-m", "demo").code == 0
    with pytest.raises(BadInput, match="no session"):
        run_subcommand("context", ["show", "--session", "unknown"])
    assert OPENED.still_open() == []


def test_the_store_is_closed_if_the_model_of_the_session_is_gone(run: Run) -> None:
    assert run("-p", "hello", "-m", "demo").code == 0
    with closing(sqlite3.connect(Paths.find(os.environ).database)) as database, database:
        database.execute("UPDATE session SET model = 'nobody/gone'")
    with pytest.raises(SwecliError, match="nobody"):
        run_subcommand("context", ["compact"])
    assert OPENED.still_open() == []
