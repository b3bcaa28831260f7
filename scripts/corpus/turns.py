"""Made-up turns, each with the one good candidate that it teaches, and what of a proposal has no ground there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.corpus.judged import FILE, Judged, candidates
from swecli.models.message import ToolCall
from swecli.playbook.digest import TurnDigest, digest_call
from swecli.playbook.founded import unfounded
from swecli.playbook.provenance import trust_of

TURNS = FILE.with_name("turns.tsv")


@dataclass(frozen=True, slots=True)
class Turn:
    """`teaches` is how its candidate begins, `quote` the words of the turn that show it."""

    teaches: str
    digest: TurnDigest
    quote: str


def turns() -> list[Turn]:
    """All of them, as they stand in the file."""
    rows = (line.split("\t") for line in TURNS.read_text(encoding="utf-8").splitlines())
    return [_turn(*row) for row in rows]


def _turn(teaches: str, query: str, command: str, output: str, quote: str) -> Turn:
    result = output.replace("\\n", "\n")
    call = ToolCall("c1", "run_command", {"command": command}, result=result, exit_code=0)
    return Turn(teaches, TurnDigest("corpus", 1, query, calls=(digest_call(call),)), quote)


def kept_good(found: Sequence[Turn]) -> list[bool]:
    """For each turn, whether what it teaches has a ground there."""
    good = _texts(found)
    return [not unfounded(good[turn.teaches], turn.quote, turn.digest) for turn in found]


def at_once(found: Sequence[Turn]) -> list[bool]:
    """For each turn, whether what it teaches is trusted without the user's yes, though mostly a result showed it."""
    good = _texts(found)
    return [trust_of(good[turn.teaches], turn.digest, turn.quote) == "reasoning" for turn in found]


def _texts(found: Sequence[Turn]) -> dict[str, str]:
    return {turn.teaches: one.text for turn in found for one in candidates() if one.text.startswith(turn.teaches)}


def held_back(judged: Judged, found: Sequence[Turn]) -> float:
    """How much of the time a bad candidate is held back: always by the gate, or in so many of the turns for want of
    ground, each time with a true quote from that turn. Only general advice comes up in just any turn; what else is bad
    is taken to be about the turn."""
    if judged.held_back or judged.candidate.why != "generic":
        return float(judged.held_back)
    return sum(bool(unfounded(judged.candidate.text, turn.quote, turn.digest)) for turn in found) / len(found)
