"""Actions are run by the command line in the test's own process, as the subcommands are."""

from __future__ import annotations

from tests.cli.conftest import restore_process, run

__all__ = ["restore_process", "run"]
