"""Claims checked against the code by fresh requests that have not seen the reviewer's reasoning. A request shows the
code a claim is about, what that code calls, and who calls it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from swecli.agent.turn import ModelStep
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.lenient_json import find_json_values
from swecli.llm.price_table import cost_of
from swecli.models.errors import SwecliError
from swecli.models.finding import Finding, Judgement, Verdict, collapse_whitespace
from swecli.models.message import ApiMessage, ModelReply, ModelRequest, ToolSpec, Usage
from swecli.review.judge.grounding import match_quote, move, strip_whitespace
from swecli.review.judge.sources import LIMITS, Source, Sources, Symbol
from swecli.store.reviews import ReviewStore

_MOST_CLAIMS = 6  # of one file in one request
TOKEN_SHARE = 2 / 3  # of what the reviewer's requests took: 40 % of all
_REPLY_TOKENS = 120  # a judgement, about
MIN_TOKENS = 40_000  # that verification may take in a small review
_VERSION = "2"  # of the prompt; judgements of another one are not used again
_TOOL = "judge_findings"
_NO_VERDICT = {"why": "no verdict on it came back"}
_MOST_LINES = 80  # of the enclosing symbol
_MOST_CALLERS = 5
_MOST_DEFINITIONS = 3
_MOST_FILES = 400  # looked through for callers
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_PROMPT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
_SPEC = ToolSpec(**json.loads(Path(__file__).with_name(f"{_TOOL}.json").read_text(encoding="utf-8")))


@dataclass(slots=True)
class Verification:
    """What a verification came to: `judged` by finding id; `same` has the claims that are a known finding, by id."""

    judged: dict[str, Judgement] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    problems: list[str] = field(default_factory=list)
    same: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verifier:
    """Asks `model` about claims; `tokens` is what it may take in all."""

    model: ChatModel
    store: ReviewStore
    sources: Sources
    counter: TokenCounter
    max_tokens: int | None = None
    tokens: int = 10_000_000  # who asks for a check by hand has seen its price

    async def verify(self, claims: Sequence[Finding]) -> Verification:
        """Judge them in their order: by rule, from judgements that are stored, by requests. No failure is raised."""
        keys, known = self._known(claims)
        out = Verification(known)
        for batch in _batches([finding for finding in claims if finding.id not in known]):
            if out.usage.total >= self.tokens or not await self._judge(batch, out):
                break
        made = {
            keys[ref]: judged for ref, judged in out.judged.items()
            if judged.by == self.model.name and ref not in out.same
        }  # fmt: skip
        self.store.keep_judgements(made)
        return out

    def _known(self, claims: Sequence[Finding]) -> tuple[dict[str, str], dict[str, Judgement]]:
        """The key of each claim, and what no request is needed for, both by finding id."""
        keys = {finding.id: self._key(finding) for finding in claims}
        stored = self.store.judgements(keys.values())
        known = {f.id: _by_rule(f, self.sources.get(f.path)) or stored.get(keys[f.id]) for f in claims}
        return keys, {ref: judgement for ref, judgement in known.items() if judgement is not None}

    def price(self, claims: Sequence[Finding]) -> tuple[int, Usage, float | None]:
        """What checking them is expected to take, each asked once: requests, tokens, US dollars (None: unknown)."""
        known = self._known(claims)[1]
        asked = [finding for finding in claims if finding.id not in known]
        batches = _batches(asked)
        packs = sum(self.counter.count(_evidence_pack(finding, self.sources)) for finding in asked)
        usage = Usage(packs + len(batches) * self.counter.count(_PROMPT), len(asked) * _REPLY_TOKENS)
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
                row = next((row for row in rows if str(row.get("id")).strip().upper() == finding.id), _NO_VERDICT)
                by = "failure" if row is _NO_VERDICT else self.model.name
                judged = parse_judgement(row, self.sources, by, finding.path)
                if finding.same_as and str(row.get("same_as")) == finding.same_as:
                    out.same[finding.id] = finding.same_as
                    judged = Judgement("refuted", why=f"it is {finding.same_as}, in other words", by=self.model.name)
                out.judged[finding.id] = judged
                see = [str(place) for place in row.get("see") or () if isinstance(place, str)][:2]
                if see and judged.verdict == "cannot_tell" and not again:
                    waiting[finding.id] = see
            if not waiting:
                break
        return True

    async def _ask(self, asked: Sequence[Finding], see: Mapping[str, list[str]], out: Verification) -> ModelReply:
        packs = await asyncio.to_thread(
            lambda: [self._like(f) + _evidence_pack(f, self.sources, see[f.id]) for f in asked]
        )
        messages: list[ApiMessage] = [
            {"role": "system", "content": _PROMPT},
            {"role": "user", "content": "\n\n".join(packs)},
        ]
        step = ModelStep(self.model, ModelRequest(self.model.name, messages, [_SPEC], self.max_tokens, "verify"))
        reply = await step.finish()
        sent = self.counter.count(_PROMPT) + sum(self.counter.count(pack) for pack in packs)
        out.usage += reply.usage or Usage(input=sent, output=self.counter.count(reply.text))
        out.cost = None if out.cost is None or reply.cost is None else out.cost + reply.cost
        out.requests += 1
        return reply

    def _like(self, finding: Finding) -> str:
        """The known problem that a claim may be, in other words."""
        if not finding.same_as:
            return ""
        known = self.store.get(finding.same_as)
        claim = f"{known.code_smell_type} at {known.place}: {collapse_whitespace(known.message)}"
        return f"{finding.id} may be {known.id}, which is known: {claim}\n"

    def _key(self, finding: Finding) -> str:
        source = self.sources.get(finding.path)
        symbol = source.symbol(finding.line)
        code = strip_whitespace("".join(source.lines[symbol.first - 1 : symbol.last]))
        parts = (finding.code_smell_type, finding.message, finding.path, code, self.model.name, _VERSION)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _by_rule(finding: Finding, source: Source) -> Judgement | None:
    """What no model is needed for: a smell that is measured, a suggestion that is the code as it is."""
    present = "".join(source.lines[max(0, finding.line - 1) : finding.end_line or finding.line])
    if finding.suggestion.strip() and strip_whitespace(finding.suggestion) == strip_whitespace(present):
        return Judgement("refuted", finding.path, finding.line, present.strip(), "the suggestion is the code", "rule")
    smell = finding.code_smell_type
    function = source.function(finding.line) if smell in LIMITS else None
    if function is None:
        return None
    measured, limit = function.measure(smell), LIMITS[smell]
    verdict: Verdict = "confirmed" if measured > limit else "refuted"
    why, quote = f"measured {measured}, at most {limit} are meant", source.lines[function.line - 1].strip()
    return Judgement(verdict, finding.path, function.line, quote, why, "rule")


def parse_judgement(row: Mapping[str, Any], sources: Sources, by: str, claimed: str = "") -> Judgement:
    """The verdict of an answer's row; without a quote that stands in the file, by its name or the `claimed` one, it is
    cannot tell."""
    given, why = str(row.get("verdict") or "").strip().lower(), " ".join(str(row.get("why") or "").split())[:400]
    verdict: Verdict = "confirmed" if given.startswith("confirm") else "refuted" if given.startswith("refut") else ""
    if not verdict:
        return Judgement("cannot_tell", why=why, by=by)
    quote, path = str(row.get("quote") or "").strip().strip("`"), str(row.get("path") or "").removeprefix("./")
    path = claimed if claimed and f"/{path}".endswith(f"/{claimed}") else path
    lines = sources.get(path).lines if path else ()
    if len(wanted := match_quote(str(row.get("quote") or ""), lines)) < 3:
        return Judgement("cannot_tell", why=f"{why} (its evidence is nowhere in the files)".strip(), by=by)
    line = row.get("line")
    found = (n for n, text in enumerate(lines, 1) if wanted[:40] in strip_whitespace(text))
    return Judgement(verdict, path, next(found, line if isinstance(line, int) else 0), quote[:400], why, by)


def apply_judgement(finding: Finding, judgement: Judgement, *, again: bool = False) -> Finding:
    """The finding with its verdict, and in the state that this leads to: what is gone is open again when it holds
    still, and fixed when it was refuted; a fixed one that was reported `again` and is confirmed has regressed."""
    verdict = judgement.verdict
    undecided = finding.same_as if verdict == "cannot_tell" else ""
    found = replace(finding, judgement=judgement, verdict=verdict, same_as=undecided)
    if finding.state in ("gone", "regressed") and verdict == "refuted":
        return move(found, "fixed", judgement.why or "checked")
    if finding.state == "gone" and verdict == "confirmed":
        back = move(found, "there", judgement.why)
        return replace(back, line=judgement.line) if judgement.path == finding.path and judgement.line else back
    if verdict == "refuted":
        return move(found, "refuted", judgement.why)
    return move(found, "reported again", judgement.why) if verdict == "confirmed" and again else found


def _batches(claims: Sequence[Finding]) -> list[list[Finding]]:
    """Up to six of one file, in their order."""
    by_path: dict[str, list[Finding]] = {}
    for finding in claims:
        by_path.setdefault(finding.path, []).append(finding)
    return [some[at : at + _MOST_CLAIMS] for some in by_path.values() for at in range(0, len(some), _MOST_CLAIMS)]


def _rows(reply: ModelReply) -> list[dict[str, Any]]:
    values: list[Any] = [call.parameters for call in reply.calls if call.name == _TOOL]
    values += [found.value for text in (*reply.broken.values(), reply.text) for found in find_json_values(text)]
    rows: list[dict[str, Any]] = []
    for value in values:
        listed = value.get("judgements", [value]) if isinstance(value, dict) else value
        rows += [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return rows


# What a request shows of a claim


def _evidence_pack(finding: Finding, sources: Sources, see: Sequence[str] = ()) -> str:
    """The claim and its code, as text. `see` are up to two `path:line` that the verifier asked for."""
    source = sources.get(finding.path)
    symbol = source.symbol(min(max(1, finding.line), max(1, len(source.lines))))
    first = symbol.first
    if symbol.last - first >= _MOST_LINES:  # at most so many of its lines, around the place
        first = max(first, finding.line - _MOST_LINES // 2)
    out = [
        f"### {finding.id}: {finding.code_smell_type} at {finding.place}",
        f"Claim: {' '.join(finding.message.split())}",
        _code(source, finding.path, first, min(symbol.last, first + _MOST_LINES - 1)),
    ]
    for used in _definitions(finding, symbol, source):
        out.append(f"It names: {_code(source, finding.path, used.first, min(used.last, used.first + 11))}")
    out += [f"Used in {line}" for line in _callers(finding, symbol, sources)]
    for path, _, line in (place.rpartition(":") for place in see):
        if line.isdecimal() and sources.get(path).lines:
            out.append(_code(sources.get(path), path, max(1, int(line) - 20), int(line) + 20))
    return "\n".join(out)


def _code(source: Source, path: str, first: int, last: int) -> str:
    rows = range(first, min(last, len(source.lines)) + 1)
    return "\n".join([f"{path}:", *(f"{number:>6} {source.lines[number - 1][:400]}" for number in rows)])


def _definitions(finding: Finding, symbol: Symbol, source: Source) -> list[Symbol]:
    """Symbols of the same file that the finding's lines or its claim name."""
    lines = source.lines[max(0, finding.line - 1) : finding.end_line or finding.line]
    names = set(_NAME.findall("\n".join([*lines, finding.message])))
    others = (s for s in source.symbols if s.name.rpartition(".")[2] in names)
    return [other for other in others if not symbol.first <= other.first <= symbol.last][:_MOST_DEFINITIONS]


def _callers(finding: Finding, symbol: Symbol, sources: Sources) -> Iterator[str]:
    """A line of each file that calls the symbol, the finding's own first."""
    name = symbol.name.rpartition(".")[2]
    word, found = re.compile(rf"\b{re.escape(name)}\s*\("), 0
    for path in [finding.path, *sources.similar_files(finding.path)[:_MOST_FILES]] if len(name) > 3 else []:
        for number, line in enumerate(sources.get(path).lines, 1):
            inside = path == finding.path and symbol.first <= number <= symbol.last
            if not inside and word.search(line):
                yield f"{path}:{number}: {line.strip()[:200]}"
                found += 1
                break
        if found >= _MOST_CALLERS:
            return
