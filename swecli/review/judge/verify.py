"""Verify claims against the code by fresh requests that contain the claim and its code, not the reviewer's reasons."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from swecli.agent.turn_state import TurnState
from swecli.llm.base import ChatModel
from swecli.llm.price_table import cost_of
from swecli.models.counts import pluralize
from swecli.models.errors import SwecliError
from swecli.models.finding import Finding, Judgement, worst_first
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, ToolSpec, Usage
from swecli.models.money import format_dollars
from swecli.models.review_events import FindingsJudged
from swecli.review.judge.evidence import describe_claim
from swecli.review.judge.grounding import anchor_at, move
from swecli.review.judge.look_up import Examiner, LookUpDialogue
from swecli.review.judge.sources import Sources
from swecli.review.judge.verdicts import Hearing, find_same
from swecli.store.reviews import ReviewStore
from swecli.values import dataclass

_MAX_CLAIMS = 6  # in one request
TOKEN_SHARE = 2 / 3  # of the reviewer's tokens: 40 % of all
MIN_TOKENS = 40_000  # that verification may use in a small review
_REPLY_TOKENS = 120  # estimated, for a judgement
_OF_CHANGE = ("introduced", "pre_existing", "intended", "refuted", "cannot_tell")
_OF_CODE = ("confirmed", "refuted", "cannot_tell")
_SPEC = Path(__file__).with_name("judge_findings.json").read_text(encoding="utf-8")
_PROMPT = Path(__file__).with_name("verify.md").read_text(encoding="utf-8").strip()
_PROMPT_OF_CHANGE = Path(__file__).with_name("verify_change.md").read_text(encoding="utf-8").strip()
_LOOKED_UP = "+"  # ends the digest of a judgement that rests on more than was shown at first, and is not reused


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

    def spend(self, state: TurnState) -> None:
        """Add what the requests of a dialogue took."""
        self.usage += state.usage
        self.cost = None if self.cost is None or state.cost is None else self.cost + state.cost
        self.requests += state.steps

    def add(self, other: Verification) -> None:
        """Add what another verification took, and its problems."""
        self.usage += other.usage
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        self.requests += other.requests
        self.problems += other.problems


@dataclass(frozen=True, slots=True)
class Verifier:
    """Asks a model about claims, until it has used `tokens`. `rules` are the project's own, and `change` is what
    is said of the change in each request (None: the code is judged as it is), with its author's words, `intent`."""

    examiner: Examiner
    store: ReviewStore
    sources: Sources
    change: str | None = None
    intent: str = ""
    rules: Mapping[str, str] = field(default_factory=dict)
    tokens: int = 10_000_000  # of a check by hand, whose price was confirmed
    max_cost: float | None = None  # in US dollars, before a request that is not made

    async def check(
        self, findings: Iterable[Finding], reported: Collection[str] = ()
    ) -> tuple[FindingsJudged, Verification]:
        """Verify findings and store the verdicts. `reported` are the ids of those that the running review reported."""
        claims = _select_claims(findings, reported)
        result = await self.verify(claims)
        judged_findings = tuple(
            self._apply(finding, result.judgements[finding.id], again=finding.id in reported)
            for finding in claims
            if finding.id in result.judgements
        )
        self.store.update(judged_findings, "check", self.model.name)
        for name, earlier_id in result.duplicates.items():
            self.store.merge(name, earlier_id)
        return count_verdicts(judged_findings), result

    def _apply(self, finding: Finding, judgement: Judgement, *, again: bool) -> Finding:
        """Return the finding with a verdict. One that was gone and stands is found by what the verifier quotes from
        then on: otherwise it would be gone again, and paid for again, at each later review."""
        judged_finding = _apply_judgement(finding, judgement, again=again)
        is_back = (
            finding.state == "gone" and judged_finding.is_open and judged_finding.state != "gone"
        )
        if not is_back or not judgement.line or judgement.side == "base":
            return judged_finding
        return anchor_at(judged_finding, self.sources.reviewed(judgement.path), judgement.line)

    async def verify(self, claims: Sequence[Finding]) -> Verification:
        """Judge claims in their order, by rule where possible, otherwise by requests. Never raises SwecliError."""
        result = Verification(self._earlier_judgements(claims))
        unjudged = [finding for finding in claims if finding.id not in result.judgements]
        for batch in _make_batches(unjudged):
            cost_left = self.cost_left(result)
            if cost_left is not None and cost_left <= 0:
                result.problems.append("not all findings were checked: the cost limit is reached")
                break
            if result.usage.total >= self.tokens or not await self._judge(batch, result):
                break
        return result

    def cost_left(self, result: Verification) -> float | None:
        """Return how many US dollars may still be spent; None for any number, also where the price is unknown."""
        if self.max_cost is None or result.cost is None:
            return None
        return self.max_cost - result.cost

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

    @property
    def _prompt(self) -> str:
        return _PROMPT if self.change is None else _PROMPT_OF_CHANGE

    @property
    def model(self) -> ChatModel:
        return self.examiner.model

    def _digest(self, finding: Finding) -> str:
        text = "\n".join([self._prompt, self.change or "", self._describe(finding)])
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]

    def _describe(self, finding: Finding) -> str:
        earlier = self.store.get(finding.same_as) if finding.same_as else None
        is_change = self.change is not None
        return describe_claim(finding, self.sources, earlier, is_change=is_change)

    def _describe_rules(self, batch: Iterable[Finding]) -> str:
        """Return the project's rules that claims rest on; "" if none does. A claim that names none of them may rest on
        any."""
        checks = {finding.code_smell_type for finding in batch if finding.kind == "check"}
        named_rules = {name: rule for name, rule in self.rules.items() if name in checks}
        if not checks:
            return ""
        texts = [f"### {name}\n{rule}" for name, rule in (named_rules or self.rules).items()]
        return "\n\n".join(["The project's own rules, which its code has to keep:", *texts])

    def estimate(self, findings: Iterable[Finding]) -> tuple[list[Finding], str]:
        """Return the findings that can be checked, and a line with the expected requests, tokens and price."""
        claims = _select_claims(findings)
        judgements = self._earlier_judgements(claims)
        unjudged = [finding for finding in claims if finding.id not in judgements]
        batches = _make_batches(unjudged)
        tokens = len(batches) * self.examiner.counter.count(self._prompt)
        tokens += sum(self.examiner.counter.count(self._describe(finding)) for finding in unjudged)
        usage = Usage(tokens, len(unjudged) * _REPLY_TOKENS)
        cost = cost_of(usage, self.model.profile.price)
        price = "price not known" if cost is None else f"about {format_dollars(cost)}"
        sizes = f"{pluralize(len(batches), 'request')}, about {usage.total:,} tokens"
        return claims, f"{pluralize(len(claims), 'finding')} to check: {sizes}, {price}"

    async def _judge(self, batch: Sequence[Finding], result: Verification) -> bool:
        """Ask about the claims of one batch. Returns False if the service failed."""
        try:
            dialogue = await self._ask(batch, result)
        except SwecliError as error:
            result.problems.append(f"findings could not be checked: {error.message}")
            failure = Judgement("cannot_tell", why=error.message, by="failure")
            result.judgements = {finding.id: failure for finding in batch} | result.judgements
            return False
        hearing = Hearing(self.sources, dialogue.shown_text, self.intent)
        rows = reversed(dialogue.answer.get("judgements", []))  # the first of each id counts
        answers: dict[str, JsonObject] = {row["id"]: row for row in rows}
        for finding in batch:
            answer = answers.get(finding.id)
            if answer is None:
                reason = "the verifier gave no answer"
                result.judgements[finding.id] = Judgement("cannot_tell", why=reason, by="failure")
                continue
            judgement = hearing.read_judgement(answer, finding, self.model.name)
            same = find_same(finding, batch, answers)
            if same:
                result.duplicates[finding.id] = same
                reason = f"it is {same}, in other words"
                judgement = Judgement("refuted", why=reason, by=self.model.name)
            rests_on_more = dialogue.has_looked_up or judgement.path not in ("", finding.path)
            digest = f"{self._digest(finding)}{_LOOKED_UP if rests_on_more else ''}"
            result.judgements[finding.id] = replace(judgement, digest=digest)
        return True

    async def _ask(self, batch: Sequence[Finding], result: Verification) -> LookUpDialogue:
        """Have the dialogue about the claims of one batch. Raises SwecliError."""
        evidence = [await asyncio.to_thread(self._describe, finding) for finding in batch]
        text = "\n\n".join(filter(None, [self.change, self._describe_rules(batch), *evidence]))
        messages: list[ApiMessage] = [
            {"role": "system", "content": self._prompt},
            {"role": "user", "content": text},
        ]
        label = f"check of {', '.join(finding.id for finding in batch)}"
        spec = _verdict_spec(is_change=self.change is not None)
        cost_left = self.cost_left(result)
        return await self.examiner.ask(label, messages, self.sources, spec, result.spend, cost_left)


def count_verdicts(findings: Sequence[Finding]) -> FindingsJudged:
    """Return the event about findings that were checked."""
    counts = Counter(finding.verdict for finding in findings)
    return FindingsJudged(
        counts["introduced"] + counts["confirmed"],
        counts["refuted"],
        counts["cannot_tell"],
        counts["pre_existing"],
        counts["intended"],
        tuple(findings),
    )


def _verdict_spec(*, is_change: bool) -> ToolSpec:
    """Return the tool by which a verifier answers, with the verdicts that there are."""
    spec = json.loads(_SPEC)
    row = spec["parameters"]["properties"]["judgements"]["items"]["properties"]
    row["verdict"]["enum"] = list(_OF_CHANGE if is_change else _OF_CODE)
    if not is_change:
        for name in ("side", "absent"):
            del row[name]
    return ToolSpec(**spec)


def _apply_judgement(finding: Finding, judgement: Judgement, *, again: bool = False) -> Finding:
    """Return the finding with a verdict, and in the state that this leads to. `again` is True if the running review
    reported it: a fixed finding that is confirmed then has regressed."""
    verdict = judgement.verdict
    undecided = finding.same_as if verdict == "cannot_tell" else ""
    judged_finding = replace(finding, judgement=judgement, verdict=verdict, same_as=undecided)
    if verdict in ("refuted", "intended"):
        is_repaired = finding.state in ("gone", "regressed") or _has_changed(finding, judgement)
        return move(
            judged_finding, "fixed" if is_repaired else "refuted", judgement.why or "checked"
        )
    if finding.state == "gone" and judged_finding.stands:
        return move(judged_finding, "there", judgement.why)
    is_reopened = again and (judged_finding.stands or finding.state == "refuted")
    return move(judged_finding, "reported again", judgement.why) if is_reopened else judged_finding


def _has_changed(finding: Finding, judgement: Judgement) -> bool:
    """Return whether a finding was confirmed for other code than that of this judgement."""
    before = finding.judgement
    is_same_code = before is not None and _first_digest(before) in ("", _first_digest(judgement))
    return finding.stands and not is_same_code


def _first_digest(judgement: Judgement) -> str:
    """Return the digest of what was shown at first."""
    return judgement.digest.removesuffix(_LOOKED_UP)


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
    """Group claims in their order, those of a file together: a request costs more by what surrounds its claims than by
    each of them."""
    by_path: dict[str, list[Finding]] = {}
    for finding in claims:
        by_path.setdefault(finding.path, []).append(finding)
    ordered = [finding for in_file in by_path.values() for finding in in_file]
    return [ordered[start : start + _MAX_CLAIMS] for start in range(0, len(ordered), _MAX_CLAIMS)]
