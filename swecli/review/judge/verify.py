"""Claims checked against the code by fresh requests that have not seen the reviewer's reasoning."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from swecli.agent.step import ModelStep, Sleep
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.lenient_json import values_in
from swecli.llm.price_table import cost_of
from swecli.models.errors import SwecliError
from swecli.models.finding import SEVERITIES, Finding, Judgement, Verdict
from swecli.models.message import ApiMessage, ModelReply, ModelRequest, ToolSpec, Usage
from swecli.review.judge.evidence import evidence_pack
from swecli.review.judge.measures import LIMITS, function_at, measure
from swecli.review.judge.places import squeezed
from swecli.review.judge.sources import Sources
from swecli.review.judge.states import Cause, move
from swecli.store.reviews import ReviewStore

MOST_CLAIMS = 6  # of one file in one request
SHARE = 2 / 3  # of what the reviewer's requests took: 40 % of all
REPLY_TOKENS = 120  # a judgement, about
LEAST_TOKENS = 20_000  # that verification may take in a small review
VERSION = "1"  # of the prompt; judgements of another one are not used again
TOOL = "judge_findings"
_PROMPT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
_VERDICTS: tuple[Verdict, ...] = ("confirmed", "refuted", "cannot_tell")
_ENTRY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "verdict": {"type": "string", "enum": list(_VERDICTS)},
        "path": {"type": "string"},
        "line": {"type": "integer"},
        "quote": {"type": "string"},
        "why": {"type": "string"},
        "see": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "verdict"],
}
_SPEC = ToolSpec(
    TOOL,
    "Give your verdict on each claim.",
    {"type": "object", "properties": {"judgements": {"type": "array", "items": _ENTRY}}, "required": ["judgements"]},
)


@dataclass(slots=True)
class Verification:
    """What a verification came to: `judged` by finding id, what it took, and a line for each request that failed."""

    judged: dict[str, Judgement] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verifier:
    """Asks `model` about claims; `tokens` is what it may take in all."""

    model: ChatModel
    store: ReviewStore
    sources: Sources
    counter: TokenCounter
    tokens: int
    max_tokens: int | None = None
    sleep: Sleep = asyncio.sleep

    async def verify(self, claims: Sequence[Finding]) -> Verification:
        """Judge them, the worst first: by rule, from judgements that are stored, by requests. No failure is raised."""
        out = Verification()
        open_ones = []
        keys = {finding.id: self._key(finding) for finding in claims}
        stored = self.store.judgements(keys.values())
        for finding in claims:
            known = by_rule(finding, self.sources) or stored.get(keys[finding.id])
            if known is not None:
                out.judged[finding.id] = known
            else:
                open_ones.append(finding)
        for batch in _batches(open_ones):
            if out.usage.total >= self.tokens:
                break
            if not await self._judge(batch, out):
                break
        made = {keys[ref]: judged for ref, judged in out.judged.items() if judged.by == self.model.name}
        self.store.keep_judgements(made)
        return out

    def price(self, claims: Sequence[Finding]) -> tuple[int, Usage, float | None]:
        """What checking them is expected to take, each asked once: requests, tokens, US dollars (None: unknown)."""
        stored = self.store.judgements({self._key(finding): finding for finding in claims})
        asked = [f for f in claims if self._key(f) not in stored and by_rule(f, self.sources) is None]
        batches = _batches(asked)
        packs = sum(self.counter.count(evidence_pack(finding, self.sources)) for finding in asked)
        usage = Usage(packs + len(batches) * self.counter.count(_PROMPT), len(asked) * REPLY_TOKENS)
        return len(batches), usage, cost_of(usage, self.model.profile.price)

    async def _judge(self, batch: Sequence[Finding], out: Verification) -> bool:
        """One request, and a second one for the places it asks to see; whether the service answered."""
        waiting: dict[str, list[str]] = {finding.id: [] for finding in batch}
        for again in (False, True):
            asked = [finding for finding in batch if finding.id in waiting]
            try:
                reply = await self._ask(asked, waiting, out)
            except SwecliError as error:
                out.problems.append(f"findings could not be checked: {error.message}")
                for finding in asked:
                    out.judged.setdefault(finding.id, Judgement("cannot_tell", why=error.message, by="failure"))
                return False
            rows = _rows(reply)
            waiting = {}
            for finding in asked:
                row = next((row for row in rows if str(row.get("id")) == finding.id), {})
                judged = grounded_verdict(row, self.sources, self.model.name)
                out.judged[finding.id] = judged
                see = [str(place) for place in row.get("see") or () if isinstance(place, str)][:2]
                if see and judged.verdict == "cannot_tell" and not again:
                    waiting[finding.id] = see
            if not waiting:
                break
        return True

    async def _ask(self, asked: Sequence[Finding], see: Mapping[str, list[str]], out: Verification) -> ModelReply:
        packs = await asyncio.to_thread(lambda: [evidence_pack(f, self.sources, see[f.id]) for f in asked])
        messages: list[ApiMessage] = [
            {"role": "system", "content": _PROMPT},
            {"role": "user", "content": "\n\n".join(packs)},
        ]
        step = ModelStep(
            self.model, ModelRequest(self.model.name, messages, [_SPEC], self.max_tokens, "verify"), self.sleep
        )
        async for _ in step.run():
            pass
        reply = step.reply
        sent = self.counter.count(_PROMPT) + sum(self.counter.count(pack) for pack in packs)
        out.usage += reply.usage or Usage(input=sent, output=self.counter.count(reply.text))
        out.cost = None if out.cost is None or reply.cost is None else out.cost + reply.cost
        out.requests += 1
        return reply

    def _key(self, finding: Finding) -> str:
        """A digest of claim, code, model and prompt."""
        symbol = self.sources.symbol(finding.path, finding.line)
        code = squeezed("".join(self.sources.get(finding.path).lines[symbol.first - 1 : symbol.last]))
        parts = (finding.code_smell_type, finding.message, finding.path, code, self.model.name, VERSION)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def by_rule(finding: Finding, sources: Sources) -> Judgement | None:
    """What no model is needed for: a smell that is measured, a suggestion that is the code as it is."""
    lines = sources.get(finding.path).lines
    present = "".join(lines[max(0, finding.line - 1) : finding.end_line or finding.line])
    if finding.suggestion.strip() and squeezed(finding.suggestion) == squeezed(present):
        return Judgement("refuted", finding.path, finding.line, present.strip(), "the suggestion is the code", "rule")
    function = function_at(sources.symbols(finding.path), finding.line)
    if finding.code_smell_type not in LIMITS or function is None:
        return None
    measured, limit = measure(function, finding.code_smell_type), LIMITS[finding.code_smell_type]
    why = f"measured {measured}, at most {limit} are meant"
    quote = lines[function.line - 1].strip()
    verdict: Verdict = "confirmed" if measured > limit else "refuted"
    return Judgement(verdict, finding.path, function.line, quote, why, "rule")


def grounded_verdict(row: Mapping[str, Any], sources: Sources, by: str) -> Judgement:
    """The verdict of an answer's row; without a quote that stands in the file it is cannot tell."""
    verdict = str(row.get("verdict") or "").strip().lower().replace(" ", "_")
    why = " ".join(str(row.get("why") or "").split())[:400]
    quote, path = str(row.get("quote") or "").strip().strip("`"), str(row.get("path") or "").removeprefix("./")
    whole = squeezed("".join(sources.get(path).lines)) if path else ""
    stands = len(squeezed(quote)) > 2 and squeezed(quote) in whole
    if verdict not in ("confirmed", "refuted"):
        return Judgement("cannot_tell", why=why, by=by)
    if not stands:
        return Judgement("cannot_tell", why=f"{why} (its evidence stands nowhere)".strip(), by=by)
    at = next((n for n, line in enumerate(sources.get(path).lines, 1) if squeezed(quote)[:40] in squeezed(line)), 0)
    line = row.get("line")
    number = at or (line if isinstance(line, int) else 0)
    return Judgement("confirmed" if verdict == "confirmed" else "refuted", path, number, quote[:400], why, by)


def judged(finding: Finding, judgement: Judgement, *, again: bool = False) -> Finding:
    """The finding with its verdict, and in the state that the verdict leads to.

    A claim about code that is gone is open again when it holds still, and fixed when it was refuted. `again` says that
    it was reported again, so that a fixed one that is confirmed has regressed.
    """
    verdict = judgement.verdict
    found = replace(finding, judgement=judgement, verdict=verdict)
    if finding.state in ("gone", "regressed") and verdict == "refuted":
        return move(found, Cause("repaired", judgement.by, judgement.why or "checked", judgement=judgement))
    if finding.state == "gone" and verdict == "confirmed":
        back = move(found, Cause("still broken", judgement.by, judgement.why, judgement=judgement))
        return replace(back, line=judgement.line) if judgement.path == finding.path and judgement.line else back
    if verdict == "refuted":
        return move(found, Cause("refuted", judgement.by, judgement.why, judgement=judgement))
    if verdict == "confirmed" and again:
        return move(found, Cause("reported again", judgement.by, judgement.why))
    return found


def _batches(claims: Sequence[Finding]) -> list[list[Finding]]:
    """Up to six of one file, gone ones first, then the worst."""
    order: dict[str, int] = {severity: number for number, severity in enumerate(reversed(SEVERITIES))}
    ranked = sorted(claims, key=lambda f: (f.state != "gone", order.get(f.severity, 9)))
    first = {finding.path: number for number, finding in reversed(list(enumerate(ranked)))}
    by_path = sorted(ranked, key=lambda finding: first[finding.path])
    out: list[list[Finding]] = []
    for _, group in groupby(by_path, key=lambda finding: finding.path):
        listed = list(group)
        out += [listed[at : at + MOST_CLAIMS] for at in range(0, len(listed), MOST_CLAIMS)]
    return out


def _rows(reply: ModelReply) -> list[dict[str, Any]]:
    """The entries of an answer, whole or broken, as a call or as JSON in prose."""
    values: list[Any] = [call.parameters for call in reply.calls if call.name == TOOL]
    values += [found.value for text in (*reply.broken.values(), reply.text) for found in values_in(text)]
    rows: list[dict[str, Any]] = []
    for value in values:
        listed = value.get("judgements", [value]) if isinstance(value, dict) else value
        rows += [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return rows
