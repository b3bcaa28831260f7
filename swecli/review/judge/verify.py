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

from swecli.agent.sender import send
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.model_json import ask_again, find_fault, read_object
from swecli.llm.price_table import cost_of
from swecli.models.counts import pluralize
from swecli.models.errors import SwecliError
from swecli.models.finding import Finding, Judgement, Verdict, collapse_whitespace, worst_first
from swecli.models.json_value import Json, JsonObject
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
_ATTEMPTS = 2  # for an answer that can be read
_MIN_QUOTE = 3  # characters of a quote that is evidence
_MAX_LINES = 80  # of the enclosing symbol
_MAX_CALLERS = 5
_MAX_DEFINITIONS = 3
_MAX_DEFINITION = 12  # lines of each
_MAX_PLACES = 2  # that a verifier may ask to see
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
        result = await self.verify(claims)
        judged = tuple(
            _apply_judgement(finding, result.judgements[finding.id], again=finding.id in reported)
            for finding in claims
            if finding.id in result.judgements
        )
        self.store.update(judged, "check", self.model.name)
        for name, earlier_id in result.duplicates.items():
            self.store.merge(name, earlier_id)
        session = sessions.current_session
        if session is not None and session.interactions and result.requests:
            figures = (result.requests, result.usage, result.cost, 0)
            sessions.record_request(
                RequestRecord(self.model.name, "verify", session.interactions, *figures)
            )
        counts = Counter(finding.verdict for finding in judged)
        event = FindingsJudged(
            counts["confirmed"], counts["refuted"], counts["cannot_tell"], judged
        )
        return event, result

    async def verify(self, claims: Sequence[Finding]) -> Verification:
        """Judge claims in their order, by rule where possible, otherwise by requests. Never raises SwecliError."""
        result = Verification(self._earlier_judgements(claims))
        asked = [finding for finding in claims if finding.id not in result.judgements]
        for batch in _make_batches(asked):
            if self._is_over_budget(result):
                result.problems.append("not all findings were checked: the cost limit is reached")
                break
            if result.usage.total >= self.tokens or not await self._judge(batch, result):
                break
        return result

    def _is_over_budget(self, result: Verification) -> bool:
        cost = result.cost
        return self.max_cost is not None and cost is not None and cost >= self.max_cost

    def _earlier_judgements(self, claims: Sequence[Finding]) -> dict[str, Judgement]:
        """Return the judgements that need no request, by finding id: the model's own on the same claim and code."""
        judgements = dict[str, Judgement]()
        for finding in claims:
            judgement = finding.judgement
            if judgement is None or judgement.by != self.model.name:
                continue
            if judgement.digest == self._digest(finding):
                judgements[finding.id] = judgement
        return judgements

    def _digest(self, finding: Finding) -> str:
        text = f"{_PROMPT}\n{self._describe(finding)}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]

    def estimate(self, findings: Iterable[Finding]) -> tuple[list[Finding], str]:
        """Return the findings that can be checked, and a line with the expected requests, tokens and price."""
        claims = _select_claims(findings)
        judgements = self._earlier_judgements(claims)
        asked = [finding for finding in claims if finding.id not in judgements]
        batches = _make_batches(asked)
        tokens = len(batches) * self.counter.count(_PROMPT)
        tokens += sum(self.counter.count(self._describe(finding)) for finding in asked)
        usage = Usage(tokens, len(asked) * _REPLY_TOKENS)
        cost = cost_of(usage, self.model.profile.price)
        price = "price unknown" if cost is None else f"about ${cost:.4f}"
        sizes = f"{pluralize(len(batches), 'request')}, about {usage.total:,} tokens"
        return claims, f"{pluralize(len(claims), 'finding')} to check: {sizes}, {price}"

    async def _judge(
        self, batch: Sequence[Finding], result: Verification, see: Mapping[str, list[str]] = {}
    ) -> bool:
        """Send one request, and a second for the places it asks to `see`. Returns False if the service failed."""
        try:
            answers = await self._ask(batch, see, result)
        except SwecliError as error:
            result.problems.append(f"findings could not be checked: {error.message}")
            failure = Judgement("cannot_tell", why=error.message, by="failure")
            result.judgements = {finding.id: failure for finding in batch} | result.judgements
            return False
        more: dict[str, list[str]] = {}
        for finding in batch:
            answer = answers.get(finding.id)
            if answer is None:
                reason = "the verifier gave no answer"
                result.judgements[finding.id] = Judgement("cannot_tell", why=reason, by="failure")
                continue
            judgement = _parse_judgement(answer, self.sources, self.model.name, finding.path)
            places = answer.get("see", [])[:_MAX_PLACES]
            if places and not see and judgement.verdict == "cannot_tell":
                more[finding.id] = places
            same = _parse_same_as(finding, batch, answers)
            if same:
                result.duplicates[finding.id] = same
                reason = f"it is {same}, in other words"
                judgement = Judgement("refuted", why=reason, by=self.model.name)
            digest = f"{self._digest(finding)}{_SAW_MORE if see else ''}"
            result.judgements[finding.id] = replace(judgement, digest=digest)
        if not more or self._is_over_budget(result):
            return True
        again = [finding for finding in batch if finding.id in more]
        return await self._judge(again, result, more)

    async def _ask(
        self, batch: Sequence[Finding], see: Mapping[str, list[str]], result: Verification
    ) -> dict[str, JsonObject]:
        """Return the first judgement of each id. An answer without any that follows the schema is asked for once more,
        with what is wrong; then there is none. Raises SwecliError."""
        evidence = [
            await asyncio.to_thread(self._describe, finding, see.get(finding.id, ()))
            for finding in batch
        ]
        for _ in range(_ATTEMPTS):
            messages: list[ApiMessage] = [
                {"role": "system", "content": _PROMPT},
                {"role": "user", "content": "\n\n".join(evidence)},
            ]
            request = ModelRequest(self.model.name, messages, [_SPEC], self.max_tokens, "verify")
            answer, fault = _read_judgements(await send(self.model, request, result.spend))
            if not fault:
                judgements = reversed(answer["judgements"])
                return {judgement["id"]: judgement for judgement in judgements}
            evidence.append(ask_again(fault))
        return {}

    def _describe(self, finding: Finding, see: Sequence[str] = ()) -> str:
        """Return the claim with its code, what the change removed there, what that code calls and who calls it, and
        with the known claim that it may repeat in other words. `see` are up to two `path:line`."""
        source = self.sources.reviewed(finding.path)
        before = self.sources.before.get(finding.path)
        is_gone = before is not None and before.is_gone
        text: list[str] = []
        if finding.same_as:
            earlier = self.store.get(finding.same_as)
            claim = f"{earlier.code_smell_type} at {earlier.place}: {collapse_whitespace(earlier.message)}"
            text.append(f"{finding.id} may be {earlier.id}, which is known: {claim}")
        symbol = source.symbol_at(min(max(1, finding.line), max(1, len(source.lines))))
        first = symbol.first
        if symbol.last - first >= _MAX_LINES:
            first = max(first, finding.line - _MAX_LINES // 2)
        text.append(f"### {finding.id}: {finding.code_smell_type} at {finding.place}")
        text.append(f"Claim: {collapse_whitespace(finding.message)}")
        if finding.state == "gone":
            text += self._show_moved(finding)
        last = min(symbol.last, first + _MAX_LINES - 1)
        title = f"{finding.path}, which the change deletes" if is_gone else finding.path
        text.append(_format_code(source, title, first, last))
        if before is not None and not is_gone:
            text += _show_removed(finding, before, range(first, last + 2))
        lines = source.lines[max(0, finding.line - 1) : finding.end_line or finding.line]
        names = set(_NAME.findall("\n".join([*lines, finding.message])))
        definitions = [
            other
            for other in source.symbols
            if other.name.rpartition(".")[2] in names
            and not symbol.first <= other.first <= symbol.last
        ]
        for other in definitions[:_MAX_DEFINITIONS]:
            end = min(other.last, other.first + _MAX_DEFINITION - 1)
            text.append(f"It names: {_format_code(source, finding.path, other.first, end)}")
        callers = islice(_find_callers(finding, symbol, self.sources), _MAX_CALLERS)
        text += [f"Used in {line}" for line in callers]
        if is_gone:
            mentions = islice(_find_mentions(finding.path, self.sources), _MAX_CALLERS)
            text += [f"Named in {line}" for line in mentions]
        text += [self._show_place(place) for place in see]
        return "\n".join(text)

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
    answer: Mapping[str, Json], sources: Sources, by: str, claimed: str = ""
) -> Judgement:
    """Return the judgement of an answer. Without a quote that its file, or the `claimed` one, contains, it is
    cannot_tell. A quote of what the change removed can confirm a claim; it cannot refute one, since it stands no
    longer."""
    verdict: Verdict = answer["verdict"]
    reason = collapse_whitespace(answer.get("why", ""))[:400]
    if verdict == "cannot_tell":
        return Judgement(verdict, why=reason, by=by)
    quote = answer.get("quote", "")
    path = (answer.get("path") or claimed).removeprefix("./")
    path = claimed if claimed and f"/{path}".endswith(f"/{claimed}") else path
    source = sources.get(path) if path == claimed else sources.find(path)
    lines = source.find_quote(quote, _MIN_QUOTE) if path else []
    before = sources.before.get(path)
    if not lines and before is not None and verdict == "confirmed":
        lines = before.find_quote(quote, _MIN_QUOTE)
    if not lines:
        return Judgement("cannot_tell", why=f"{reason} (its quote is in no file)".strip(), by=by)
    return Judgement(verdict, path, lines[0], quote.strip().strip("`")[:400], reason, by)


def _parse_same_as(
    finding: Finding, batch: Sequence[Finding], answers: Mapping[str, JsonObject]
) -> str:
    """Return the id of the finding that an answer calls the same problem, or "": the one that it was asked about, or an
    older one of the same request. One that the answer refutes takes no other along."""
    answer = answers[finding.id]
    same = answer.get("same_as", "")
    older = {other.id for other in batch if _number(other.id) < _number(finding.id)}
    if not same or same not in {finding.same_as, *older}:
        return ""
    is_refuted = answers.get(same, {}).get("verdict") == "refuted"
    return "" if is_refuted and answer["verdict"] != "refuted" else same


def _number(name: str) -> int:
    return int(name.removeprefix("F-"))


def _apply_judgement(finding: Finding, judgement: Judgement, *, again: bool = False) -> Finding:
    """Return the finding with a verdict, and in the state that this leads to. `again` is True if the running review
    reported it: a fixed finding that is confirmed then has regressed."""
    verdict = judgement.verdict
    undecided = finding.same_as if verdict == "cannot_tell" else ""
    judged = replace(finding, judgement=judgement, verdict=verdict, same_as=undecided)
    if verdict == "refuted":
        is_repaired = finding.state in ("gone", "regressed") or _has_changed(finding, judgement)
        return move(judged, "fixed" if is_repaired else "refuted", judgement.why or "checked")
    if finding.state == "gone" and verdict == "confirmed":
        present = move(judged, "there", judgement.why)
        if not judgement.line:
            return present
        present = replace(present, path=judgement.path, line=judgement.line)
        # in another file, the next comparison has to find its lines
        return present if present.path == finding.path else replace(present, file_hash="")
    is_reopened = again and (verdict == "confirmed" or finding.state == "refuted")
    return move(judged, "reported again", judgement.why) if is_reopened else judged


def _has_changed(finding: Finding, judgement: Judgement) -> bool:
    """Return whether a finding was confirmed for other code than that of this judgement."""
    before = finding.judgement
    is_same_code = before is not None and _first_digest(before) in ("", _first_digest(judgement))
    return finding.verdict == "confirmed" and not is_same_code


def _first_digest(judgement: Judgement) -> str:
    """Return the digest of what was shown at first."""
    return judgement.digest.removesuffix(_SAW_MORE)


def _select_claims(findings: Iterable[Finding], reported: Collection[str] = ()) -> list[Finding]:
    """Return the findings that can be checked: those that the running review `reported`, also if they were fixed or
    refuted before, then the others, the worst first."""
    claims: dict[str, Finding] = {}
    for finding in findings:
        has_code = finding.anchor or finding.block
        is_settled = finding.state in ("fixed", "refuted") and finding.id not in reported
        if has_code and finding.state != "dismissed" and not is_settled:
            claims[finding.id] = finding
    return sorted(
        claims.values(), key=lambda claim: (claim.id not in reported, worst_first(claim)[1])
    )


def _make_batches(claims: Sequence[Finding]) -> list[list[Finding]]:
    """Group claims by file, up to six in a batch, in their order."""
    by_path: dict[str, list[Finding]] = {}
    for finding in claims:
        by_path.setdefault(finding.path, []).append(finding)
    return [
        in_file[start : start + _MAX_CLAIMS]
        for in_file in by_path.values()
        for start in range(0, len(in_file), _MAX_CLAIMS)
    ]


def _read_judgements(reply: ModelReply) -> tuple[JsonObject, str]:
    """Return the judgements in a call or in the text of an answer, and ""; or {} and what is wrong with them."""
    call = next((call for call in reply.calls if call.name == _TOOL), None)
    if call is None:
        return read_object(reply.text, _SPEC.parameters)
    fault = reply.malformed.get(call.id) or find_fault(call.parameters, _SPEC.parameters)
    return ({}, fault) if fault else (call.parameters, "")


def _format_code(source: Source, path: str, first: int, last: int) -> str:
    numbers = range(first, min(last, len(source.lines)) + 1)
    lines = [f"{number:>6} {source.lines[number - 1][:400]}" for number in numbers]
    return "\n".join([f"{path}:", *lines])


def _show_removed(finding: Finding, before: Before, lines: range) -> list[str]:
    """Return what the change removed at these lines, each with the line before which it stood; of a claim about removed
    code what stood nearest to it."""
    removals = [pair for pair in before.removals if finding.removed or pair[0] in lines]
    nearest = sorted(removals, key=lambda pair: abs(pair[0] - finding.line))[:_MAX_LINES]
    text = [f"{pair[0]:>6} - {pair[1][:400]}" for pair in removals if pair in nearest]
    return ["Removed by the change:", *text[:_MAX_LINES]] if text else []


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
