"""Commands that run without a question, in a jail: what they change, start and print."""

from __future__ import annotations

from pathlib import Path

from lab.assurance.measurements.rows import Measurement, Row
from tests.support.jail import Jail, run_unasked

_SEED = 4711


def measure(count: int) -> list[Row]:
    """Generate `count` commands, and run those that need no approval without a sandbox."""
    found = run_unasked(Jail(Path("jail").absolute()), _SEED, count)
    failures = [f"`{command}` {harm}" for command, harm, _ in found.harm]
    seen = f"{found.generated:,} generated, the others ask"
    return [Row("commands that run unasked", found.ran, failures, seen)]


_METHOD = """\
Command lines are generated from the plain forms that run unasked where there is no sandbox: options and operands in any
order, wildcards, scripts of awk and sed, pipes, with a hostile environment and repository. Those that need no approval
are run **without a sandbox**, in a jail whose programs, secrets and files are traps. A command holds if it changes no
file, starts no program that has no plain form and prints no secret."""

UNASKED_COMMANDS = Measurement(
    "Commands that run unasked",
    _METHOD,
    measure,
    quick=120,
    whole=20_000,
)
