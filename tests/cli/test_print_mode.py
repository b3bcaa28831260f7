"""Test that a run without a screen leaves its store closed, also if it cannot begin."""

from __future__ import annotations

import os

import pytest

from swecli.cli.flags import parse_run
from swecli.cli.print_mode import run_print_mode
from swecli.cli.startup import make_start
from swecli.config.paths import Paths
from swecli.models.errors import BadInput
from swecli.tools.surroundings import Surroundings
from tests.support.databases import OPENED


async def run(*argv: str) -> int:
    args = parse_run(list(argv))
    start = make_start(args)
    surroundings = Surroundings(start.cwd, start.environ)
    surroundings.begin()
    return await run_print_mode(start, args, surroundings)


async def test_the_store_is_closed_after_a_run_and_if_its_session_is_unknown() -> None:
    assert await run("-p", "hello", "-m", "demo") == 0
    assert Paths.find(os.environ).database.exists()
    assert OPENED.still_open() == []
    with pytest.raises(BadInput, match="no session"):
        await run("-p", "hello", "-m", "demo", "--resume", "unknown")
    assert OPENED.still_open() == []
