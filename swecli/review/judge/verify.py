"""Verify claims against the code by fresh requests that contain the claim and its code, not the reviewer's reasons."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from swecli.agent.sender import send
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.lenient_json import find_json_values
from swecli.llm.price_table import cost_of
from swecli.models.counts import pluralize
from swecli.models.errors import SwecliError
from swecli.models.finding import Finding, Judgement, Verdict, collapse_whitespace, worst_first
from swecli.models.message import (
    ApiMessage,
    ModelReply,
    ModelRequest,
    RequestRecord,
    ToolSpec,
    Usage,
)
from swecli.models.review_events import FindingsJudged
from swecli.review.judge.grounding import move
from swecli.review.judge.sources import Before, Block, Source, Sources, Symbol
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager

_MAX_CLAIMS = 6  # of one file in one request
TOKEN_SHARE = 2 / 3  # of the reviewer's tokens: 40 % of all
MIN_TOKENS = 40_000  # that verification may use in a small review
_REPLY_TOKENS = 120  # estimated, for a judgement
_TOOL = "judge_findings"
_MIN_QUOTE = 3  # characters of a quote that is evidence
_MAX_LINES = 80  # of the enclosing symbol
_MAX_CALLERS = 5
_MAX_DEFINITIONS = 3
_MAX_MOVED = 2  # places that the code of a claim may have been moved to
_MIN_MOVED = 12  # characters of code that is searched for in other files
_MAX_FILES = 400  # searched for callers
_SAW_MORE = "+"  # ends the digest of a judgement that rests on more than was shown at first, and is not reused
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_PROMPT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
_SPEC = ToolSpec(
    **json.loads(Path(__file__).with_name(f"{_TOOL}.json").read_text(encoding="utf-8"))
)


@dataclass(slots=True)
class Verification:
    """The result of a verification: `judgements` by finding id; `duplicates` maps claims to the known finding that they
    are."""

    judgements: dict[str, Judgement] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    problems: list[str] = field(default_factory=list)
    duplicates: dict[str, str] = field(default_factory=dict)

    def spend(self, spent: RequestRecord) -> None:
        """Add what a request took."""
        self.usage += spent.usage
        self.cost = None if self.cost is None or spent.cost is None else self.cost + spent.cost
        self.requests += 1


@dataclass(frozen=True, slots=True)
class Verifier:
    """Asks `model` about claims, until it has used `tokens`."""

    model: ChatModel
    store: ReviewStore
    sources: Sources
    counter: TokenCounter
    max_tokens: int | None = None
    tokens: int = 10_000_000  # of a check by hand, whose price was confirmed
    max_cost: float | None = None  # in US dollars, before a request that is not made

    async def check(
        self, sessions: SessionManager, findings: Iterable[Finding], reported: Collection[str] = ()
    ) -> tuple[FindingsJudged, Verification]:
        """Verify findings and store the verdicts. `reported` are the ids of those that the running review reported."""
        claims = _select_claims(findings, reported)
        done = await self.verify(claims)
        judged = tuple(
            _apply_judgement(f, done.judgements[f.id], again=f.id in reported)
            for f in claims
            if f.id in done.judgements
        )
        self.store.update(judged, "check", self.model.name)
        for ref, known in done.duplicates.items():
            self.store.merge(ref, known)
        session = sessions.current_session
        if session is not None and session.interactions and done.requests:
            figures = (done.requests, done.usage, done.cost, 0)
            sessions.record_request(
                RequestRecord(self.model.name, "verify", session.interactions, *figures)
            )
        count = Counter(finding.verdict for finding in judged)
        return FindingsJudged(
            count["confirmed"], count["refuted"], count["cannot_tell"], judged
        ), done

    async def verify(self, claims: Sequence[Finding]) -> Verification:
        """Judge claims in their order, by rule where possible, otherwise by requests. Never raises SwecliError."""
        out = Verification(self._judge_without_request(claims))
        for batch in _make_batches(
            [finding for finding in claims if finding.id not in out.judgements]
        ):
            if self._is_over_budget(out):
                out.problems.append("not all findings were checked: the cost limit is reached")
                break
            if out.usage.total >= self.tokens or not await self._judge(batch, out):
                break
        return out

    def _is_over_budget(self, out: Verification) -> bool:
        if self.max_cost is None or out.cost is None:
            return False
        return out.cost >= self.max_cost

    def _judge_without_request(self, claims: Sequence[Finding]) -> dict[str, Judgement]:
        """Return the judgements that need no request: the model's own on the same claim and code."""
        ruled = dict[str, Judgement]()
        for finding in claims:
            known = finding.judgement
            if (
                known is not None
                and known.by == self.model.name
                and known.digest == self._digest(finding)
            ):
                ruled[finding.id] = known
        return ruled

    def _digest(self, finding: Finding) -> str:
        shown = f"{_PROMPT}\n{self._describe(finding)}"
        return hashlib.sha256(shown.encode("utf-8", "replace")).hexdigest()[:16]

    def estimate(self, findings: Iterable[Finding]) -> tuple[list[Finding], str]:
        """Return the findings that can be checked, and a line with the expected requests, tokens and price."""
        ruled = self._judge_without_request(claims := _select_claims(findings))
        asked = [finding for finding in claims if finding.id not in ruled]
        batches = _make_batches(asked)
        evidence = sum(self.counter.count(self._describe(finding)) for finding in asked)
        usage = Usage(
            evidence + len(batches) * self.counter.count(_PROMPT), len(asked) * _REPLY_TOKENS
        )
        cost = cost_of(usage, self.model.profile.price)
        price = "price unknown" if cost is None else f"about ${cost:.4f}"
        sizes = f"{pluralize(len(batches), 'request')}, about {usage.total:,} tokens"
        return claims, f"{pluralize(len(claims), 'finding')} to check: {sizes}, {price}"

    async def _judge(
        self, batch: Sequence[Finding], out: Verification, see: Mapping[str, list[str]] = {}
    ) -> bool:
        """Send one request, and a second for the places it asks to `see`. Returns False if the service failed."""
        try:
            reply = await self._ask(batch, see, out)
        except SwecliError as error:
            out.problems.append(f"findings could not be checked: {error.message}")
            failure = Judgement("cannot_tell", why=error.message, by="failure")
            out.judgements = {finding.id: failure for finding in batch} | out.judgements
            return False
        rows = _parse_rows(reply, batch[0].id if len(batch) == 1 else "")
        more: dict[str, list[str]] = {}
        for finding in batch:
            row = rows.get(finding.id)
            if row is None:
                why = "the verifier gave no answer"
                out.judgements[finding.id] = Judgement("cannot_tell", why=why, by="failure")
                continue
            judgement = _parse_judgement(row, self.sources, self.model.name, finding.path)
            places = _parse_places(row)
            if places and not see and judgement.verdict == "cannot_tell":
                more[finding.id] = places
            if known := _parse_same_as(finding, batch, rows):
                out.duplicates[finding.id] = known
                why = f"it is {known}, in other words"
                judgement = Judgement("refuted", why=why, by=self.model.name)
            digest = f"{self._digest(finding)}{_SAW_MORE if see else ''}"
            out.judgements[finding.id] = replace(judgement, digest=digest)
        if not more or self._is_over_budget(out):
            return True
        return await self._judge([finding for finding in batch if finding.id in more], out, more)

    async def _ask(
        self, asked: Sequence[Finding], see: Mapping[str, list[str]], out: Verification
    ) -> ModelReply:
        evidence = [
            await asyncio.to_thread(self._describe, finding, see.get(finding.id, ()))
            for finding in asked
        ]
        messages: list[ApiMessage] = [
            {"role": "system", "content": _PROMPT},
            {"role": "user", "content": "\n\n".join(evidence)},
        ]
        request = ModelRequest(self.model.name, messages, [_SPEC], self.max_tokens, "verify")
        return await send(self.model, request, out.spend)

    def _describe(self, finding: Finding, see: Sequence[str] = ()) -> str:
        """Return the claim with its code, what the change removed there, what that code calls and who calls it, and
        with the known claim that it may repeat in other words. `see` are up to two `path:line`."""
        source = self.sources.reviewed(finding.path)
        before = self.sources.before.get(finding.path)
        is_gone = before is not None and before.is_gone
        out: list[str] = []
        if finding.same_as:
            known = self.store.get(finding.same_as)
            claim = (
                f"{known.code_smell_type} at {known.place}: {collapse_whitespace(known.message)}"
            )
            out.append(f"{finding.id} may be {known.id}, which is known: {claim}")
        symbol = source.symbol_at(min(max(1, finding.line), max(1, len(source.lines))))
        first = symbol.first
        if symbol.last - first >= _MAX_LINES:
            first = max(first, finding.line - _MAX_LINES // 2)
        out.append(f"### {finding.id}: {finding.code_smell_type} at {finding.place}")
        out.append(f"Claim: {collapse_whitespace(finding.message)}")
        if finding.state == "gone":
            out += self._show_moved(finding)
        last = min(symbol.last, first + _MAX_LINES - 1)
        title = f"{finding.path}, which the change deletes" if is_gone else finding.path
        out.append(_format_code(source, title, first, last))
        if before is not None and not is_gone:
            out += _show_removed(finding, before, range(first, last + 2))
        lines = source.lines[max(0, finding.line - 1) : finding.end_line or finding.line]
        names = set(_NAME.findall("\n".join([*lines, finding.message])))
        named = [s for s in source.symbols if s.name.rpartition(".")[2] in names]
        for used in [s for s in named if not symbol.first <= s.first <= symbol.last][
            :_MAX_DEFINITIONS
        ]:
            out.append(
                f"It names: {_format_code(source, finding.path, used.first, min(used.last, used.first + 11))}"
            )
        out += [
            f"Used in {line}"
            for line in islice(_find_callers(finding, symbol, self.sources), _MAX_CALLERS)
        ]
        if is_gone:
            mentions = islice(_find_mentions(finding.path, self.sources), _MAX_CALLERS)
            out += [f"Named in {line}" for line in mentions]
        out += [self._show_place(place) for place in see]
        return "\n".join(out)

    def _show_moved(self, finding: Finding) -> list[str]:
        """Return where the code of a finding that is gone stands now, if it was moved into another file."""
        block = Block.load(finding.block, finding.anchor)
        places: list[str] = []
        for path in self.sources.similar_files(finding.path)[:_MAX_FILES]:
            source = self.sources.get(path)
            for first, last in source.find_block(block, finding.anchor):
                symbol = source.symbol_at(first)
                end = min(max(symbol.last, last), symbol.first + _MAX_LINES)
                places.append(
                    f"Its code stands now in {_format_code(source, path, symbol.first, end)}"
                )
        # what stands in many files was not moved
        return places if len(places) <= _MAX_MOVED and block.length >= _MIN_MOVED else []

    def _show_place(self, place: str) -> str:
        """Return the code around a `path:line` that the verifier asked for, or why it is not shown."""
        path, _, line = place.rpartition(":")
        source = self.sources.find(path)
        if source.problem or not line.isdecimal():
            return f"{place} is not shown: {source.problem or 'it names no line'}."
        return _format_code(source, path, max(1, int(line) - 20), int(line) + 20)


def _parse_judgement(
    row: Mapping[str, Any], sources: Sources, by: str, claimed: str = ""
) -> Judgement:
    """Return the judgement of an answer's row. Without a quote that its file, or the `claimed` one, contains, it is
    cannot_tell, and one with another verdict is a failure. A quote of what the change removed can confirm a claim; it
    cannot refute one, since it stands no longer."""
    given = re.sub(r"^\W+", "", str(row.get("verdict")).lower())
    why = collapse_whitespace(str(row.get("why") or ""))[:400]
    verdict: Verdict = ""
    if given.startswith("confirm"):
        verdict = "confirmed"
    elif given.startswith("refut"):
        verdict = "refuted"
    if not verdict:
        return Judgement("cannot_tell", why=why, by=by if given.startswith("can") else "failure")
    quote = str(row.get("quote") or "")
    path = str(row.get("path") or claimed).removeprefix("./")
    path = claimed if claimed and f"/{path}".endswith(f"/{claimed}") else path
    source = sources.get(path) if path == claimed else sources.find(path)
    found = source.find_quote(quote, _MIN_QUOTE) if path else []
    before = sources.before.get(path)
    if not found and before is not None and verdict == "confirmed":
        found = before.find_quote(quote, _MIN_QUOTE)
    if not found:
        return Judgement("cannot_tell", why=f"{why} (its quote is in no file)".strip(), by=by)
    return Judgement(verdict, path, found[0], quote.strip().strip("`")[:400], why, by)


def _parse_same_as(
    finding: Finding, batch: Sequence[Finding], rows: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the id of the finding that an answer calls the same problem, or "": the one that it was asked about, or an
    older one of the same request. One that the answer refutes takes no other along."""
    named = re.search(r"\d+", str(rows[finding.id].get("same_as") or ""))
    known = f"F-{int(named[0])}" if named else ""
    older = {other.id for other in batch if _number(other.id) < _number(finding.id)}
    if known not in {finding.same_as, *older} - {""}:
        return ""
    refuted = [
        str(rows.get(ref, {}).get("verdict")).startswith("refut") for ref in (known, finding.id)
    ]
    return "" if refuted == [True, False] else known


def _number(ref: str) -> int:
    return int(ref.removeprefix("F-"))


def _apply_judgement(finding: Finding, judgement: Judgement, *, again: bool = False) -> Finding:
    """Return the finding with a verdict, and in the state that this leads to. `again` is True if the running review
    reported it: a fixed finding that is confirmed then has regressed."""
    verdict = judgement.verdict
    undecided = finding.same_as if verdict == "cannot_tell" else ""
    found = replace(finding, judgement=judgement, verdict=verdict, same_as=undecided)
    if verdict == "refuted":
        is_repaired = finding.state in ("gone", "regressed") or _has_changed(finding, judgement)
        return move(found, "fixed" if is_repaired else "refuted", judgement.why or "checked")
    if finding.state == "gone" and verdict == "confirmed":
        back = move(found, "there", judgement.why)
        if not judgement.line:
            return back
        is_moved_out = judgement.path != finding.path
        file_hash = (
            "" if is_moved_out else back.file_hash
        )  # then the next comparison finds its lines
        return replace(back, path=judgement.path, line=judgement.line, file_hash=file_hash)
    is_reopened = again and (verdict == "confirmed" or finding.state == "refuted")
    return move(found, "reported again", judgement.why) if is_reopened else found


def _has_changed(finding: Finding, judgement: Judgement) -> bool:
    """Return whether a finding was confirmed for other code than that of this judgement."""
    before = finding.judgement
    is_same_code = before is not None and _shown(before) in ("", _shown(judgement))
    return finding.verdict == "confirmed" and not is_same_code


def _shown(judgement: Judgement) -> str:
    """Return the digest of what was shown at first."""
    return judgement.digest.removesuffix(_SAW_MORE)


def _select_claims(findings: Iterable[Finding], reported: Collection[str] = ()) -> list[Finding]:
    """Return the findings that can be checked: those that the running review `reported`, also if they were fixed or
    refuted before, then the others, the worst first."""
    known = {f.id: f for f in findings if (f.anchor or f.block) and f.state != "dismissed"}
    listed = (f for f in known.values() if f.state not in ("fixed", "refuted") or f.id in reported)
    return sorted(listed, key=lambda f: (f.id not in reported, worst_first(f)[1]))


def _make_batches(claims: Sequence[Finding]) -> list[list[Finding]]:
    """Group claims by file, up to six in a batch, in their order."""
    by_path: dict[str, list[Finding]] = {}
    for finding in claims:
        by_path.setdefault(finding.path, []).append(finding)
    return [
        some[at : at + _MAX_CLAIMS]
        for some in by_path.values()
        for at in range(0, len(some), _MAX_CLAIMS)
    ]


def _parse_rows(reply: ModelReply, only: str) -> dict[str, dict[str, Any]]:
    """Return the first row of each id, which may be written `F-3`, `3` or `f3: LEAK`; without one it is `only`."""
    values: list[Any] = [call.parameters for call in reply.calls if call.name == _TOOL]
    for text in (*reply.broken.values(), reply.text):
        values += [found.value for found in find_json_values(text)]
    by_id: dict[str, dict[str, Any]] = {}
    for value in values:
        for row in _rows_of(value):
            number = re.search(r"\d+", str(row.get("id")))
            by_id.setdefault(f"F-{int(number[0])}" if number else only, row)
    return by_id


def _rows_of(value: Any) -> list[dict[str, Any]]:
    """Return the rows in one JSON value: a list of them, one row, or rows by id, also under `judgements`."""
    listed = value.get("judgements", value) if isinstance(value, dict) else value
    if isinstance(listed, dict):
        if "verdict" in listed:
            return [listed]
        return [{"id": key, **row} for key, row in listed.items() if isinstance(row, dict)]
    if isinstance(listed, list):
        return [row for row in listed if isinstance(row, dict)]
    return []


def _parse_places(row: Mapping[str, Any]) -> list[str]:
    """Return the places, at most two, that the model asks to see before it judges."""
    named = row.get("see")
    if not isinstance(named, list):
        return []
    return [place for place in named if isinstance(place, str)][:2]


def _format_code(source: Source, path: str, first: int, last: int) -> str:
    rows = range(first, min(last, len(source.lines)) + 1)
    return "\n".join(
        [f"{path}:", *(f"{number:>6} {source.lines[number - 1][:400]}" for number in rows)]
    )


def _show_removed(finding: Finding, before: Before, lines: range) -> list[str]:
    """Return what the change removed at these lines, each with the line before which it stood; of a claim about removed
    code what stood nearest to it."""
    rows = [row for row in before.removals if finding.removed or row[0] in lines]
    nearest = sorted(rows, key=lambda row: abs(row[0] - finding.line))[:_MAX_LINES]
    shown = [f"{place:>6} - {text[:400]}" for place, text in rows if (place, text) in nearest]
    return ["Removed by the change:", *shown[:_MAX_LINES]] if shown else []


def _find_mentions(path: str, sources: Sources) -> Iterator[str]:
    """Yield one line of each file of the same kind that names a deleted file."""
    word = re.compile(rf"\b{re.escape(Path(path).stem)}\b")
    for other in sources.similar_files(path)[:_MAX_FILES]:
        for number, line in enumerate(sources.get(other).lines, 1):
            if word.search(line):
                yield f"{other}:{number}: {line.strip()[:200]}"
                break


def _find_callers(finding: Finding, symbol: Symbol, sources: Sources) -> Iterator[str]:
    """Yield one line of each file that calls the symbol, beginning with the finding's own."""
    name = symbol.name.rpartition(".")[2]
    own = finding.path
    word = re.compile(rf"\b{re.escape(name)}\s*\(")
    for path in [own, *sources.similar_files(own)[:_MAX_FILES]] if len(name) > 3 else []:
        for number, line in enumerate(sources.get(path).lines, 1):
            if word.search(line) and not (path == own and symbol.first <= number <= symbol.last):
                yield f"{path}:{number}: {line.strip()[:200]}"
                break
