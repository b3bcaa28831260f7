"""The page docs/explanation/what-holds.md, made of measurements and their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lab.assurance.measurements.rows import Measurement, Row, Taken

_HEAD = "<!-- Written by lab/assurance/what_holds: make it anew, do not edit it. -->\n\n"
_INTRODUCTION = """# What holds, measured

How often swecli kept its promises when it was killed, when a service failed, when somebody typed on, and for text
that wants to do harm. Every attempt is made with the real program, database, sockets, processes and files; no real
model answers: a service on the loopback does, which refuses what real services refuse. A row that does not hold is
listed with what failed.

Measured with {machine}.

`lab/assurance/what_holds` makes the page; `--quick` makes a small part of each measurement, as the tests do.
What the sandbox keeps in has [its own page](../reference/sandbox.md).

"""
_MOST = 12  # failures that are listed of one row


def make_page(measurements: Sequence[Measurement], taken: Mapping[str, Taken]) -> str:
    """Return the page in Markdown. What was `taken` is by title. The page names the machine of most measurements, and
    one that was taken with another says so."""
    machine = Counter(found.machine for found in taken.values()).most_common(1)[0][0]
    parts = [_HEAD, _INTRODUCTION.format(machine=machine)]
    all_rows = [row for found in taken.values() for row in found.rows]
    failing = sum(bool(row.failures) for row in all_rows)
    parts.append(f"{len(all_rows)} rows, {failing} of them with failures.\n")
    for measurement in measurements:
        found = taken[measurement.title]
        parts.append(f"\n## {measurement.title}\n\n{measurement.method}\n\n")
        if found.machine != machine:
            parts.append(f"Measured with {found.machine}.\n\n")
        parts.append(_table(found.rows))
        parts += [_failures(row) for row in found.rows if row.failures]
    return "".join(parts)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| attempt | made | held | also seen |", "| --- | ---: | ---: | --- |"]
    lines += [
        f"| {_cell(row.attempt)} | {row.made:,} | {_held(row)} | {_cell(row.seen)} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _held(row: Row) -> str:
    """Return how many held, emphasised if not all did."""
    return f"**{row.held:,}**" if row.failures else f"{row.held:,}"


def _failures(row: Row) -> str:
    listed = [f"- {' '.join(failure.split())}" for failure in row.failures[:_MOST]]
    if more := len(row.failures) - _MOST:
        listed += [f"- and {more:,} more"] if more > 0 else []
    return f"\nNot held: {row.attempt}.\n\n" + "\n".join(listed) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
