"""Three-way merge by lines: make some changes of one text in another that has changed in other places."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.tools.diffs import LineRange, changed_ranges, split_into_lines
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class Merged:
    """The present text with the changes made, or which of them overlap with what is different in it: then `text` has
    none of them. `places` are the first lines of the changes in `text`, from 1."""

    text: str
    places: tuple[int, ...] = ()
    overlapping: tuple[LineRange, ...] = ()


def apply_changes(
    base: str, changed_text: str, changes: Sequence[LineRange], present: str
) -> Merged:
    """Make `changes`, which lead from `base` to `changed_text` and are given in order, in the present text, which was
    made from `base` as well."""
    changed_lines = split_into_lines(changed_text)
    lines = split_into_lines(present)
    others = changed_ranges(split_into_lines(base), lines)
    overlapping = [change for change in changes if any(_overlap(change, other) for other in others)]
    if overlapping:
        return Merged(present, overlapping=tuple(overlapping))
    places: list[int] = []
    grown = 0  # lines by which the changes so far have made the text longer
    for change in changes:
        start = change.i1 + _growth_before(change, others) + grown
        end = start + change.i2 - change.i1
        lines[start:end] = changed_lines[change.j1 : change.j2]
        places.append(start + 1)
        grown += (change.j2 - change.j1) - (change.i2 - change.i1)
    return Merged("".join(lines), tuple(places))


def merge(base: str, changed_text: str, present: str) -> Merged:
    """Make all changes from `base` to `changed_text` in the present text."""
    changes = changed_ranges(split_into_lines(base), split_into_lines(changed_text))
    return apply_changes(base, changed_text, changes, present)


def _overlap(change: LineRange, other: LineRange) -> bool:
    """Return whether two changes of the same text are about the same lines. Where lines are only inserted, what comes
    first is not known: so beside another change they overlap, too."""
    are_both_ranges = change.i1 < change.i2 and other.i1 < other.i2
    if are_both_ranges:
        return change.i1 < other.i2 and other.i1 < change.i2
    return change.i1 <= other.i2 and other.i1 <= change.i2


def _growth_before(change: LineRange, others: Sequence[LineRange]) -> int:
    """Return how many lines longer the text in front of a change has become by the others."""
    return sum(
        (other.j2 - other.j1) - (other.i2 - other.i1) for other in others if other.i2 <= change.i1
    )


def reverse(change: LineRange) -> LineRange:
    """Return the change from the new text to the old one."""
    return LineRange(change.j1, change.j2, change.i1, change.i2)
