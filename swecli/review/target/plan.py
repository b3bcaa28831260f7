"""Plan a review: cut its target into hunks and parts, estimate what reading them takes, measure what was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from math import ceil
from statistics import median
from typing import TypeVar

from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import Row as Price
from swecli.llm.price_table import cost_of
from swecli.models.errors import BadInput
from swecli.models.finding import Finding
from swecli.models.message import Usage
from swecli.models.review_events import Coverage, Estimate, FileCoverage, ReviewPlanned, Unit
from swecli.review.file_kinds import matches_kind
from swecli.review.judge.layout import digest_code
from swecli.review.judge.sources import Source
from swecli.review.target.diffs import (
    LONG_LINE,
    MAX_LINE,
    FileDiff,
    Row,
    is_included,
    planned_lines,
)
from swecli.review.target.targets import TARGET_HINT, Target
from swecli.values import dataclass

_CONFLICT = re.compile(r"(?:<<<<<<<|>>>>>>>) ")
_Item = TypeVar("_Item")
# read last, in this order; a name that matches several counts as the last
_LATE_KINDS = ("config", "tests", "docs")
_REASONS = {
    "max_loops": "limit of requests", "max_budget": "budget", "interrupted": "interrupted", "failed": "failed",
    "unreadable": "no report", "done": "not sent",
}  # fmt: skip
_BASE_TOKENS = 3_200  # of a request: the system message and the tools
_REPLY_TOKENS = 700
_MIN_PAST = 3  # reviews needed to estimate from them
# assumed until there are so many: loops for each part; all tokens, verification included, for each of the parts' own
_LOOP_RATIOS = (1.0, 3.0)
_TOKEN_RATIOS = (0.8, 6.0)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring lines to review. `lines` are the planned line numbers, `text` is what the model reads, `spans` are
    the lines in it as inclusive ranges, `problem` is why it cannot be sent, "" if it can."""

    id: str
    path: str
    lines: tuple[int, ...]
    text: str
    digest: str
    old_path: str = ""
    tokens: int = 0
    problem: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    def distance(self, finding: Finding) -> int:
        """Return how many lines are between a finding of its file and the lines of the hunk; 0 if they overlap."""
        last = finding.end_line or finding.line
        gaps = [max(first - last, finding.line - end, 0) for first, end in self.spans]
        return min(gaps, default=finding.line)

    def is_around(self, finding: Finding, source: Source) -> bool:
        """Return whether the hunk is in the function or block of a finding; `source` is the finding's file."""
        symbol = source.symbol_at(finding.line)
        return self.path == finding.path and any(
            first <= symbol.last and symbol.first <= end for first, end in self.spans
        )


@dataclass(frozen=True, slots=True)
class Part:
    """The hunks that one message asks to review."""

    number: int
    hunks: tuple[Hunk, ...]

    @property
    def tokens(self) -> int:
        return sum(hunk.tokens for hunk in self.hunks)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))


@dataclass(frozen=True, slots=True)
class Plan:
    """All hunks, and the parts to read, in reading order."""

    target: Target
    hunks: tuple[Hunk, ...]
    parts: tuple[Part, ...]
    estimate: Estimate | None = None

    @property
    def unit(self) -> Unit:
        return "changed lines" if self.target.diffs else "lines"

    @property
    def earlier(self) -> list[Hunk]:
        """The hunks that were read at an earlier push."""
        digests = frozenset(self.target.earlier.digests)
        return [hunk for hunk in self.hunks if not hunk.problem and hunk.digest in digests]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))

    def select(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings of the ledger that are about this plan: on its lines or reported for one of its hunks,
        gone from one of its files, or carried by the pull request."""
        digests = {hunk.digest for hunk in self.hunks}
        carried = {finding.fingerprint for finding in self.target.earlier.findings}
        selected: list[Finding] = []
        for finding in findings:
            is_there = any(
                hunk.path == finding.path
                and (finding.state == "gone" or hunk.distance(finding) == 0)
                for hunk in self.hunks
            )
            if is_there or finding.hunk in digests or finding.fingerprint in carried:
                selected.append(finding)
        return selected

    def find_hunk(self, finding: Finding, part: Part) -> str:
        """Return the digest of the hunk that a finding of a part is about: the nearest one in its file."""
        in_file = [hunk for hunk in self.hunks if hunk.path == finding.path]
        nearest = min(in_file, key=lambda hunk: hunk.distance(finding), default=part.hunks[0])
        return nearest.digest

    def to_event(self, review: str = "", rules: Iterable[str] = ()) -> ReviewPlanned:
        """Return the plan as an event; `rules` are the names of the project's own."""
        sizes = len(self.parts), len(self.hunks), sum(len(hunk.lines) for hunk in self.hunks)
        return ReviewPlanned(
            review, *sizes, self.unit, self.target.skips, self.estimate, tuple(rules)
        )

    def with_estimate(
        self, max_loops: int, price: Price, past: Sequence[Mapping[str, float]], *, verify: bool
    ) -> Plan:
        """Return the plan with the expected ranges of loops, requests, tokens and cost, from the lowest and highest
        ratios of earlier reviews (`past`); without enough of them from constants. `max_loops` is the limit of a
        part."""
        parts = self.parts
        basis = "constants"
        loop_ratios = list(_LOOP_RATIOS)
        token_ratios = list(_TOKEN_RATIOS)
        if len(past) >= _MIN_PAST:
            basis = f"the last {len(past)} reviews"
            loop_ratios = [row["loops"] / row["parts"] for row in past]
            token_ratios = [
                row["tokens"] / (row["shown"] + row["parts"] * _BASE_TOKENS) for row in past
            ]
        size = sum(part.tokens + _BASE_TOKENS for part in parts)
        fewest = min(len(parts), max(1, int(min(loop_ratios) * len(parts))))
        most = min(max_loops * len(parts), ceil(max(loop_ratios) * len(parts)))
        loops = (fewest, most)
        requests = (fewest, most + (ceil(most / 2) if verify else 0))
        tokens = (int(min(token_ratios) * size), ceil(max(token_ratios) * size))
        outputs = [count * _REPLY_TOKENS for count in requests]
        low, high = (
            cost_of(Usage(max(0, total - output), output), price)
            for total, output in zip(tokens, outputs, strict=True)
        )
        needed = ceil(median(loop_ratios) * len(parts))
        cost = None if low is None or high is None else (low, high)
        return replace(self, estimate=Estimate(loops, requests, tokens, cost, needed, basis))

    def measure_coverage(
        self,
        reported_digests: Collection[str],
        answered: Collection[int],
        end: str,
        unverified: int = 0,
    ) -> Coverage:
        """Return the coverage of the plan. `reported_digests` are the digests of hunks with a report, `answered` the
        numbers of parts in an answered request; `end` is why the review ended, "" while it runs."""
        read_digests = {*reported_digests, *(hunk.digest for hunk in self.earlier)}
        shown_digests = {
            hunk.digest for part in self.parts if part.number in answered for hunk in part.hunks
        }
        files: list[FileCoverage] = []
        counts = Counter(read=0, shown=0, not_read=0)
        for path, hunks in groupby(self.hunks, key=lambda hunk: hunk.path):
            lines = {name: set[int]() for name in counts}
            reasons: dict[str, None] = {}
            for hunk in hunks:
                name = "not_read"
                if hunk.digest in read_digests:
                    name = "read"
                elif hunk.digest in shown_digests:
                    name = "shown"
                else:
                    reasons[hunk.problem or _REASONS.get(end, "")] = None
                lines[name].update(hunk.lines)
            ranges = {name: _to_ranges(numbers) for name, numbers in lines.items()}
            files.append(FileCoverage(path, **ranges, why=", ".join(filter(None, reasons))))
            counts.update({name: len(numbers) for name, numbers in lines.items()})
        earlier = f"the review of {self.target.earlier.head[:12]}" if self.earlier else ""
        return Coverage(
            self.unit,
            tuple(files),
            self.target.skips,
            earlier,
            unverified,
            counts.total(),
            **counts,
        )


def build_plan(target: Target, counter: TokenCounter, max_tokens: int) -> Plan:
    """Cut the target into hunks and pack them into parts of at most `max_tokens`; a larger hunk is cut between lines.
    Raises BadInput when all files that the user named are empty."""
    hunks: list[Hunk] = []
    for path in target.files:
        diff = target.diffs.get(path) or FileDiff(path)
        source = target.sources.reviewed(path)
        problem = _unreadable_because(diff, source, target.include)
        hunks += _cut_file(diff, source, problem, max_tokens)
    if not hunks and target.files and not target.diffs:
        problem = f"There is nothing to review in {target.label}: its files are empty."
        raise BadInput(problem, TARGET_HINT)

    hunks = _number(_sort_by_risk(hunks), counter)
    reported_digests = set(target.earlier.digests)
    unread = [hunk for hunk in hunks if not hunk.problem and hunk.digest not in reported_digests]
    groups = _pack(((hunk, hunk.tokens) for hunk in unread), max_tokens)
    parts = tuple(Part(number, tuple(group)) for number, group in enumerate(groups, 1))
    notes = dict.fromkeys(
        f"{hunk.path} will not be read: {hunk.problem}" for hunk in hunks if hunk.problem
    )
    return Plan(replace(target, notes=(*target.notes, *notes)), tuple(hunks), parts)


def _unreadable_because(diff: FileDiff, source: Source, include: Sequence[str]) -> str:
    """Return why a file will not be read, "" if it will."""
    if source.problem:
        return source.problem
    if not diff.is_gone and any(_CONFLICT.match(line) for line in source.lines):
        return "conflict markers"
    added = source.lines if diff.is_new else [text for _, _, text in diff.rows]
    is_long = any(len(text) > MAX_LINE for text in added)
    if is_long and not is_included(diff.path, include):
        return LONG_LINE
    return ""


def _cut_file(diff: FileDiff, source: Source, problem: str, max_tokens: int) -> list[Hunk]:
    """Return the hunks of a file, without ids. One that will not be read, for a `problem`, is cut into its
    sections only, and has a hunk even if it has no lines."""
    hunks: list[Hunk] = []
    for symbol, rows in _split_sections(diff, source):
        # about three characters a token, and the line number in front
        sized = ((row, len(row[2]) // 3 + 4) for row in rows)
        pieces = [rows] if problem else _pack(sized, max_tokens)
        hunks += [_build_hunk(diff, source, symbol, piece, problem) for piece in pieces]
    if problem and not hunks:
        hunks.append(Hunk("", diff.path, (1,), "", f"unreadable {diff.path}", problem=problem))
    return hunks


def _sort_by_risk(hunks: Sequence[Hunk]) -> list[Hunk]:
    """Sort source before config, tests and docs; within these by folder, files with more planned lines first."""
    sizes = Counter(hunk.path for hunk in hunks for _ in hunk.lines)

    def rank(hunk: Hunk) -> tuple[int, str, int, str]:
        path = hunk.path
        lateness = [matches_kind(path, kind) * n for n, kind in enumerate(_LATE_KINDS, 1)]
        return max(lateness), path.rpartition("/")[0], -sizes[path], path

    return sorted(hunks, key=rank)


def _number(hunks: Iterable[Hunk], counter: TokenCounter) -> list[Hunk]:
    """Give the hunks their ids and sizes, and equal ones different digests: equal lines at two places are read at
    both."""
    numbered: list[Hunk] = []
    counts = Counter[str]()
    for number, hunk in enumerate(hunks, 1):
        counts[hunk.digest] += 1
        count = counts[hunk.digest]
        digest = hunk.digest if count == 1 else f"{hunk.digest}-{count}"
        tokens = counter.count(hunk.text)
        numbered.append(replace(hunk, id=f"H{number}", digest=digest, tokens=tokens))
    return numbered


def _build_hunk(diff: FileDiff, source: Source, symbol: str, rows: list[Row], problem: str) -> Hunk:
    has_own_numbers = diff.is_gone or not diff.hunks
    numbers = {number for sign, number, _ in rows if sign != "-" or has_own_numbers}
    planned = numbers if has_own_numbers else planned_lines(rows)
    spans = _to_ranges(numbers or planned)
    title = f"lines {spans[0][0]}-{spans[-1][1]}{f' in {symbol}' if symbol else ''}"
    row_texts = [_show_row(row, has_number=row[0] != "-" or has_own_numbers) for row in rows]
    text = "\n".join([title, *row_texts])
    digest = _digest_rows(diff, source, symbol, rows)
    lines = tuple(sorted(planned))
    return Hunk("", diff.path, lines, text, digest, diff.old_path, problem=problem, spans=spans)


def _show_row(row: Row, *, has_number: bool) -> str:
    sign, number, text = row
    return f"{number if has_number else '':>6} {sign} {text}"


def _digest_rows(diff: FileDiff, source: Source, symbol: str, rows: Sequence[Row]) -> str:
    """Return what a hunk is known by at the next push: its place, its rows and the unchanged ones around them. Equal
    digests mean that the same code was read; an indentation of another width and the ends of lines do not matter."""
    place = f"{diff.path}\0{symbol}"
    if not diff.hunks:
        return digest_code([place, *(text for _, _, text in rows)])
    forms = {} if diff.is_gone else dict(enumerate(source.forms, 1))
    texts = [place]
    for sign, number, text in rows:
        form = text.rstrip() if sign == "-" else forms.get(number, text)
        if form:
            texts.append(f"{sign}{form}")
    return digest_code(texts)


def _split_sections(diff: FileDiff, source: Source) -> Iterator[tuple[str, list[Row]]]:
    """Yield (symbol, rows) of each hunk of a diff, or of a whole file cut at its top-level functions and classes."""
    for rows in diff.hunks:
        yield source.symbol_at(min(planned_lines(rows), default=1)).name, list(rows)
    if diff.hunks:
        return
    outermost = [symbol.first for symbol in source.symbols if "." not in symbol.name]
    for first, end in pairwise(sorted({1, *outermost, len(source.lines) + 1})):
        lines = enumerate(source.lines[first - 1 : end - 1], first)
        yield source.symbol_at(first).name, [(" ", number, text) for number, text in lines]


def _pack(sized: Iterable[tuple[_Item, int]], max_size: int) -> Iterator[list[_Item]]:
    """Group neighbours up to a total size; a larger item is a group of its own."""
    group: list[_Item] = []
    total = 0
    for item, size in sized:
        if group and total + size > max_size:
            yield group
            group = []
            total = 0
        group.append(item)
        total += size
    if group:
        yield group


def _to_ranges(lines: set[int]) -> tuple[tuple[int, int], ...]:
    """Convert line numbers to inclusive ranges: {1, 2, 3, 7} gives ((1, 3), (7, 7))."""
    # in a run of neighbours the lines and their places in the order differ by the same
    groups = groupby(enumerate(sorted(lines)), key=lambda pair: pair[1] - pair[0])
    runs = [[line for _, line in group] for _, group in groups]
    return tuple((run[0], run[-1]) for run in runs)
