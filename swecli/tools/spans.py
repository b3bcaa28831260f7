"""Which places of a text were replaced, in the old text and in the new one, also after several passes of edits."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from swecli.tools.diffs import LineRange


class Span(NamedTuple):
    """Characters of the old text and what stands for them in the new one, ends excluded."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def replaced_spans(
    starts: Sequence[int], ends: Sequence[int], lengths: Sequence[int]
) -> list[Span]:
    """Return the spans of replacing each place of the old text by so many characters. Places are in order."""
    spans: list[Span] = []
    shift = 0
    for start, end, length in zip(starts, ends, lengths, strict=True):
        spans.append(Span(start, end, start + shift, start + shift + length))
        shift += length - (end - start)
    return spans


def compose(earlier: Sequence[Span], later: Sequence[Span]) -> list[Span]:
    """Return the spans from the old text of `earlier` to the new text of `later`, which was made of the new text of
    `earlier`. Both are in order; what overlaps or touches in the text between becomes one span."""
    between = [(span.new_start, span.new_end) for span in earlier]
    between += [(span.old_start, span.old_end) for span in later]
    composed: list[Span] = []
    passed_earlier = 0
    passed_later = 0
    before_shift = 0  # from the text between to the old text
    behind_shift = 0  # from the text between to the new text
    for start, end in _join_touching(sorted(between)):
        old_start = start + before_shift
        new_start = start + behind_shift
        while passed_earlier < len(earlier) and earlier[passed_earlier].new_start <= end:
            span = earlier[passed_earlier]
            before_shift = span.old_end - span.new_end
            passed_earlier += 1
        while passed_later < len(later) and later[passed_later].old_start <= end:
            span = later[passed_later]
            behind_shift = span.new_end - span.old_end
            passed_later += 1
        composed.append(Span(old_start, end + before_shift, new_start, end + behind_shift))
    return composed


def _join_touching(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in intervals:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def changed_lines(old: str, new: str, spans: Sequence[Span]) -> list[LineRange]:
    """Return the lines that the spans touch, in order and without overlaps; between them both texts are equal."""
    old_ends = _line_ends(old)
    new_ends = _line_ends(new)
    ranges: list[LineRange] = []
    for span in spans:
        line_range = LineRange(
            _line_at(old, old_ends, span.old_start),
            min(bisect_right(old_ends, span.old_end) + 1, len(old_ends)),
            _line_at(new, new_ends, span.new_start),
            min(bisect_right(new_ends, span.new_end) + 1, len(new_ends)),
        )
        if ranges and (line_range.i1 < ranges[-1].i2 or line_range.j1 < ranges[-1].j2):
            last = ranges.pop()
            line_range = LineRange(last.i1, line_range.i2, last.j1, line_range.j2)
        ranges.append(line_range)
    return ranges


def _line_at(text: str, ends: Sequence[int], place: int) -> int:
    """Return the line that a place is in. The end of a text is in its last line, unless a line break precedes it."""
    line = bisect_right(ends, place)
    if line == len(ends) and text and not text.endswith("\n"):
        return line - 1
    return line


def _line_ends(text: str) -> list[int]:
    """Return the place behind each line."""
    ends = [match.end() for match in re.finditer("\n", text)]
    if text and not text.endswith("\n"):
        ends.append(len(text))
    return ends
