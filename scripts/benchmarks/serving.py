"""Figures of a start with five approved MCP servers against one without: servers are started by the first call."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from scripts.benchmarks.asking import ASKED, measure_runs, middle
from scripts.benchmarks.place import ROOT, Place, run_once, swecli
from scripts.benchmarks.prompting import measure_starts, memory, usable
from scripts.benchmarks.rows import Effort, MeasuringError, Row

NAMES = ("ant", "bee", "cat", "dog", "elk")
SERVED = "servers"  # the home with the servers
WITHOUT = "without servers"
GOAL = 1.05
SERVER = ROOT / "tests/support/mcp_servers/raw.py"


def serving(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    _approve_servers(place)
    ours, plain = measure_starts(place, effort.starts, (swecli(), SERVED), (swecli(), "home"))
    yield _row("exec to usable prompt", "ms", usable(ours), usable(plain))
    yield _row("memory at the prompt", "MiB", memory(ours), memory(plain))
    asked, alone = measure_runs(place, effort, {SERVED: ASKED, "home": ASKED})
    requests = [middle(runs, lambda run: run.request) for runs in (asked, alone)]
    yield _row("-p, exec to first request", "ms", *requests)


def _approve_servers(place: Place) -> None:
    """Add and approve the servers. Raises MeasuringError if one could not be."""
    commands = []
    for name in NAMES:
        commands.append(["mcp", "add", name, "--", sys.executable, str(SERVER)])
        commands.append(["mcp", "approve", name, "--yes"])
    # in one process: each approval imports the package that speaks to servers
    run_all = f"from swecli.cli.main import run_safely\nprint(*map(run_safely, {commands}))"
    run_once(place, sys.executable, "-c", run_all, home=SERVED)
    listed = json.loads(run_once(place, *swecli("mcp", "list", "--json"), home=SERVED))
    if [entry["state"] for entry in listed] != ["approved"] * len(NAMES):
        raise MeasuringError("the MCP servers were not approved")


def _row(figure: str, unit: str, ours: float, plain: float) -> Row:
    name = f"{figure}, {len(NAMES)} MCP servers"
    return Row(name, unit, ours, plain, WITHOUT, GOAL)
