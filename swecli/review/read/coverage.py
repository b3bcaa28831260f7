"""Which of the planned lines were read, shown without a report, or not read, and why not."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from swecli.models.coverage import Coverage, FileCoverage, ranges_of
from swecli.review.target.plan import Hunk, Plan

WHY = {
    "max_loops": "loop limit", "max_budget": "budget", "interrupted": "interrupted", "failed": "failed",
    "unreadable": "no report", "done": "not sent",
}  # fmt: skip
MOST_NAMED = 4  # files named on the line for people


def cover(plan: Plan, read: Collection[str], shown: Collection[str], end: str, unverified: int = 0) -> Coverage:
    """The coverage of a plan.

    Args:
        read: digests of the hunks of which a report came back; `shown`: of those that stood in an answered request.
        end: how the review ended, "" while it runs.
    """
    by_path: dict[str, list[Hunk]] = {}
    read = {*read, *(hunk.digest for hunk in plan.earlier)}
    earlier = f"the review of {plan.target.earlier.head[:12]}" if plan.earlier else ""
    for hunk in plan.hunks:
        by_path.setdefault(hunk.path, []).append(hunk)
    files = []
    counts = {"read": 0, "shown": 0, "not_read": 0}
    for path, hunks in by_path.items():
        classes: dict[str, set[int]] = {name: set() for name in counts}
        whys: list[str] = []
        for hunk in hunks:
            name = "read" if hunk.digest in read else "shown" if hunk.digest in shown else "not_read"
            classes[name].update(hunk.lines)
            whys += [hunk.why or WHY.get(end, "")] if name == "not_read" else []
        counts = {name: count + len(classes[name]) for name, count in counts.items()}
        ranges = {name: ranges_of(lines) for name, lines in classes.items()}
        why = ", ".join(dict.fromkeys(filter(None, whys)))
        files.append(FileCoverage(path, ranges["read"], ranges["shown"], ranges["not_read"], why))
    total = sum(counts.values())
    return Coverage(plan.unit, tuple(files), plan.skips, earlier, unverified, total, **counts)


def in_words(coverage: Coverage) -> str:
    """`read 812 of 1,040 changed lines · 140 shown, no report · 88 not read (loop limit): src/a.py 40-80, …`."""
    parts = [f"read {coverage.read:,} of {coverage.total:,} {coverage.unit}"]
    parts += [f"some by {coverage.earlier}"] if coverage.earlier else []
    parts += [f"{coverage.shown:,} shown, no report"] if coverage.shown else []
    left = [file for file in coverage.files if file.not_read]
    if coverage.not_read:
        whys = ", ".join(dict.fromkeys(file.why for file in left if file.why))
        listed = [f"{file.path} {_spans(file.not_read)}" for file in left[:MOST_NAMED]]
        more = ", …" if len(left) > MOST_NAMED else ""
        parts.append(f"{coverage.not_read:,} not read{f' ({whys})' if whys else ''}: {', '.join(listed)}{more}")
    parts += [f"{coverage.unverified:,} not verified"] if coverage.unverified else []
    return " · ".join(parts)


def _spans(ranges: Iterable[tuple[int, int]]) -> str:
    listed = [f"{first}-{last}" if last > first else f"{first}" for first, last in ranges]
    return ", ".join(listed[:3]) + (", …" if len(listed) > 3 else "")
