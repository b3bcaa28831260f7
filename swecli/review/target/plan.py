"""What a review will read, cut into parts that fit a request: hunks with their symbols, the risky ones first. What that
is expected to take, before anything is paid for, and what became of each planned line."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import Row as Price
from swecli.llm.price_table import cost_of
from swecli.models.message import Usage
from swecli.models.review_events import Coverage, Estimate, FileCoverage, SkippedFile, Unit, to_ranges
from swecli.review.judge.sources import Source, Sources
from swecli.review.target.diffs import DiffHunk, FileDiff, matches_kind, skip_rule_for_text
from swecli.review.target.targets import Target

_CONFLICT = re.compile(r"(?:<<<<<<<|>>>>>>>) ")
_Row = tuple[str, int, str]  # sign, number in the new side, text
_Item = TypeVar("_Item")
_WHY = {
    "max_loops": "loop limit", "max_budget": "budget", "interrupted": "interrupted", "failed": "failed",
    "unreadable": "no report", "done": "not sent",
}  # fmt: skip
# chosen by hand, used until there are reviews to go by: the system message with its tools, and what a reply takes
_BASE_TOKENS = 3_200
_REPLY_TOKENS = 700
_READ_TOKENS = 2_500  # a file that is read around a part
_MOST_LOOPS_OF_PART = 3
_VERIFY_SHARE = 2 / 3  # at most, of the reviewer's requests
_ENOUGH = 5  # reviews from which on they are gone by
_TRIM = 0.1  # of the measured ratios, left out at each end


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Some neighbouring lines to review: `lines` are the planned ones, `text` is what the model sees, `why` says why it
    cannot be sent, "" where it can."""

    id: str
    path: str
    lines: tuple[int, ...]
    text: str
    digest: str
    old_path: str = ""
    tokens: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What one message asks to review."""

    number: int
    hunks: tuple[_Hunk, ...]

    @property
    def tokens(self) -> int:
        return sum(hunk.tokens for hunk in self.hunks)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))


@dataclass(frozen=True, slots=True)
class Plan:
    """`parts` in the order they are read, `unfit` hunks that cannot be sent, `skips` files that a rule leaves out,
    `earlier` hunks that the review of an earlier push has read; what was measured in the files is in `leads` by file;
    `estimate` where it was asked for."""

    target: Target
    parts: tuple[Part, ...]
    unfit: tuple[_Hunk, ...] = ()
    skips: tuple[SkippedFile, ...] = ()
    earlier: tuple[_Hunk, ...] = ()
    leads: Mapping[str, list[str]] = field(default_factory=dict)
    estimate: Estimate | None = None

    @property
    def unit(self) -> Unit:
        return "changed lines" if self.target.diffs else "lines"

    @property
    def hunks(self) -> tuple[_Hunk, ...]:
        """All of them, sendable or not, read before or not."""
        return (*(hunk for part in self.parts for hunk in part.hunks), *self.unfit, *self.earlier)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))


def build_plan(target: Target, sources: Sources, counter: TokenCounter, most_tokens: int) -> Plan:
    """Cut the target into hunks and pack them; a hunk of more than `most_tokens`, the size of a part, is cut between
    lines."""
    hunks, leads = list[_Hunk](), dict[str, list[str]]()
    skips, known = list(target.skips), set(target.earlier.digests)
    for path in target.files:
        diff, source = target.diffs.get(path) or FileDiff(path), sources.get(path)
        if rule := _rule(path, sources, target.attributes.get(path, {})):
            skips.append(SkippedFile(path, rule))
            continue
        why = "" if diff.hunks and source.missing else source.problem
        why = why or ("conflict markers" if any(_CONFLICT.match(line) for line in source.lines) else "")
        made = []
        for symbol, rows in _stretches(diff, source):
            # about three letters a token, with the number in front of each line
            pieces = [rows] if why else _filled(((row, len(row[2]) // 3 + 4) for row in rows), most_tokens)
            made += [_hunk(diff, symbol, piece, why) for piece in pieces]
        leads |= {path: over} if (made or why) and (over := source.measures_over_limits()) else {}
        hunks += made or ([_Hunk("", path, (1,), "", f"unreadable {path}", why=why)] if why else [])
    ordered, alike = list[_Hunk](), Counter[str]()
    for hunk in _riskier_first(hunks):
        alike[hunk.digest] += 1  # the same lines again are read where they stand, not with the first
        digest = hunk.digest if alike[hunk.digest] == 1 else f"{hunk.digest}-{alike[hunk.digest]}"
        ordered.append(replace(hunk, id=f"H{len(ordered) + 1}", digest=digest, tokens=counter.count(hunk.text)))
    fit = [hunk for hunk in ordered if not hunk.why]
    groups = _filled(((hunk, hunk.tokens) for hunk in fit if hunk.digest not in known), most_tokens)
    parts = tuple(Part(number, tuple(group)) for number, group in enumerate(groups, 1))
    unfit = tuple(hunk for hunk in ordered if hunk.why)
    notes = dict.fromkeys(f"{hunk.path} will not be read: {hunk.why}" for hunk in unfit)
    target = replace(target, notes=(*target.notes, *notes))
    return Plan(target, parts, unfit, tuple(skips), tuple(hunk for hunk in fit if hunk.digest in known), leads)


def _rule(path: str, sources: Sources, attributes: Mapping[str, str]) -> str:
    """The rule by which a file is skipped for what it is; "" where it is not."""
    source = sources.get(path)
    if (sources.root / path).is_symlink():
        return "link"
    return "binary" if source.hash and source.problem else skip_rule_for_text(source.lines, attributes)


def _hunk(diff: FileDiff, symbol: str, rows: list[_Row], why: str) -> _Hunk:
    planned = DiffHunk(tuple(rows)).planned() if diff.hunks else {number for _, number, _ in rows}
    spans = to_ranges({number for sign, number, _ in rows if sign != "-"} or planned)
    title = f"lines {spans[0][0]}-{spans[-1][1]}{f' in {symbol}' if symbol else ''}"
    text = "\n".join([title, *(f"{number if sign != '-' else '':>6} {sign} {line}" for sign, number, line in rows)])
    strip_whitespace = "".join(
        f"{sign}{''.join(line.split())}\n" for sign, _, line in rows if sign != " " or not diff.hunks
    )
    digest = hashlib.sha256(f"{diff.path}\0{strip_whitespace}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return _Hunk("", diff.path, tuple(sorted(planned)), text, digest, diff.old_path, why=why)


def _stretches(diff: FileDiff, source: Source) -> Iterator[tuple[str, list[_Row]]]:
    """The hunks of a diff; a whole file cut where a function or class at its top begins."""
    for hunk in diff.hunks:
        planned = hunk.planned()
        symbol = source.symbol(min(planned)).name if planned else ""
        yield symbol or hunk.name[:80], list(hunk.rows)
    if diff.hunks:
        return
    ends = sorted({1, len(source.lines) + 1, *(symbol.first for symbol in source.symbols if "." not in symbol.name)})
    for first, behind in zip(ends, ends[1:], strict=False):
        yield source.symbol(first).name, [(" ", number, source.lines[number - 1]) for number in range(first, behind)]


def _filled(sized: Iterable[tuple[_Item, int]], most: int) -> Iterator[list[_Item]]:
    """Neighbours together, in groups of at most so many tokens; what has more is alone."""
    group: list[_Item] = []
    total = 0
    for item, size in sized:
        if group and total + size > most:
            yield group
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group


def _riskier_first(hunks: Sequence[_Hunk]) -> list[_Hunk]:
    """Source, config, tests, docs; within these folder by folder, the files with more planned lines first."""
    sizes = Counter(hunk.path for hunk in hunks for _ in hunk.lines)

    def order(hunk: _Hunk) -> tuple[int, str, int, str]:
        risk = next((3 - n for n, kind in enumerate(("docs", "tests", "config")) if matches_kind(hunk.path, kind)), 0)
        return risk, hunk.path.rpartition("/")[0], -sizes[hunk.path], hunk.path

    return sorted(hunks, key=order)


def estimate_review(
    plan: Plan, most_loops: int, price: Price, past: Sequence[Mapping[str, float]], *, verify: bool
) -> Estimate:
    """The ranges for a plan: by what earlier reviews (`past`) took for each token of their parts, the smallest and
    largest tenth left out; before there are enough, from one loop a part to three with reading for each."""
    parts, needed = plan.parts[:most_loops], len(plan.parts) * 2
    shown = sum(part.tokens for part in parts)
    loops = (len(parts), min(most_loops, len(plan.parts) * _MOST_LOOPS_OF_PART))
    # each loop sends the conversation again; after loop 5 its window keeps it from growing
    most = _MOST_LOOPS_OF_PART * (shown + loops[1] * (_BASE_TOKENS + _READ_TOKENS))
    most = int(most * (1 + _VERIFY_SHARE)) if verify else most
    tokens, basis = (shown + len(parts) * (_BASE_TOKENS + _REPLY_TOKENS), most), "constants"
    if len(past) >= _ENOUGH and parts:
        basis = f"the last {len(past)} reviews"
        low, high = _range([row["loops"] / row["parts"] for row in past])
        needed = -int(-high * len(plan.parts) // 1)
        loops = (max(1, int(low * len(parts))), min(most_loops, needed))
        # what a loop takes beside its parts does not grow with them
        low, high = _range([row["tokens"] / (row["shown"] + row["parts"] * _BASE_TOKENS) for row in past])
        size = shown + len(parts) * _BASE_TOKENS
        tokens = (int(low * size), int(high * size) + 1)
    checks = -(-loops[1] // 2) if verify else 0
    replies = (loops[0] * _REPLY_TOKENS, (loops[1] + checks) * _REPLY_TOKENS)
    costs = [
        cost_of(Usage(input=max(0, size - reply), output=reply), price)
        for size, reply in zip(tokens, replies, strict=True)
    ]
    cost = (costs[0], costs[1]) if costs[0] is not None and costs[1] is not None else None
    return Estimate(loops, (loops[0], loops[1] + checks), tokens, cost, needed, basis)


def _range(ratios: Sequence[float]) -> tuple[float, float]:
    ordered, cut = sorted(ratios), int(len(ratios) * _TRIM)
    return ordered[cut], ordered[-1 - cut]


def measure_coverage(
    plan: Plan, read: Collection[str], shown: Collection[str], end: str, unverified: int = 0
) -> Coverage:
    """The coverage of a plan, by the digests of the hunks of which a report came back (`read`) and of those that stood
    in an answered request (`shown`); `end` is "" while the review runs."""
    read = {*read, *(hunk.digest for hunk in plan.earlier)}
    earlier = f"the review of {plan.target.earlier.head[:12]}" if plan.earlier else ""
    lines: dict[str, dict[str, set[int]]] = {
        path: {"read": set(), "shown": set(), "not_read": set()} for path in plan.files
    }
    whys: dict[str, dict[str, None]] = {path: {} for path in plan.files}
    for hunk in plan.hunks:
        name = "read" if hunk.digest in read else "shown" if hunk.digest in shown else "not_read"
        lines[hunk.path][name].update(hunk.lines)
        if name == "not_read" and (why := hunk.why or _WHY.get(end, "")):
            whys[hunk.path][why] = None
    counts = {name: sum(len(of[name]) for of in lines.values()) for name in ("read", "shown", "not_read")}
    files = [
        FileCoverage(path, **{name: to_ranges(some) for name, some in of.items()}, why=", ".join(whys[path]))
        for path, of in lines.items()
    ]
    return Coverage(plan.unit, tuple(files), plan.skips, earlier, unverified, sum(counts.values()), **counts)
