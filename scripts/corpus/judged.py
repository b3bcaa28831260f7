"""The labelled candidates, put through the real curator one by one, and how often its judgement is the label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.corpus.shop import INSTRUCTIONS
from swecli.context.prompts import load_prompt
from swecli.models.playbook import Evidence, SessionPlaybook
from swecli.playbook.digest import TurnDigest
from swecli.playbook.here import Here
from swecli.playbook.learning.curator import Curator
from swecli.playbook.learning.proposals import AddProposal, Reflection

FILE = Path(__file__).resolve().parents[2] / "tests" / "playbook" / "gate" / "candidates.tsv"
PARTS = ("tuned", "held out")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text with its label. `why` says what is wrong with a bad one.

    `part` is "tuned" where the gate was made to fit it, "held out" where it was written after that.
    """

    good: bool
    why: str
    part: str
    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a candidate: "active", or "quarantined" or "refused" with the reason."""

    candidate: Candidate
    state: str
    reason: str

    @property
    def held_back(self) -> bool:
        """Whether it cannot come into a prompt without the user's yes."""
        return self.state != "active"


def candidates() -> list[Candidate]:
    """All of them, as they stand in the file."""
    rows = (line.split("\t") for line in FILE.read_text(encoding="utf-8").splitlines())
    return [Candidate(label == "good", why, part, text) for label, why, part, text in rows]


def judge(found: Iterable[Candidate], here: Here) -> list[Judged]:
    """Each one as a model's proposal in a turn of its own, with an empty playbook and the real instructions."""
    curator = Curator(instructions=f"{load_prompt('system')}\n{INSTRUCTIONS}", here=here)
    return [_judged(curator, candidate) for candidate in found]


def _judged(curator: Curator, candidate: Candidate) -> Judged:
    digest = TurnDigest("corpus", 1, "go on")
    evidence = Evidence("model", "seen in the work", "corpus", 1)
    add = AddProposal(candidate.text, "general", "strategy", "project", "reasoning", (evidence,))
    sifted = curator.sift(Reflection(adds=(add,)), SessionPlaybook(), digest)
    if not sifted.ops:
        return Judged(candidate, "refused", sifted.refused[0])
    (op,) = sifted.ops
    return Judged(candidate, str(op.fields["state"]), op.evidence[-1].quote if len(op.evidence) > 1 else "")


@dataclass(frozen=True, slots=True)
class Rates:
    """How well bad ones are held back. `precision`: of those held back, the share that is bad; `recall`: of the bad."""

    bad: int
    good: int
    caught: int
    lost: int

    @property
    def precision(self) -> float:
        """1.0 when nothing was held back."""
        return self.caught / (self.caught + self.lost) if self.caught + self.lost else 1.0

    @property
    def recall(self) -> float:
        """1.0 when there is nothing bad."""
        return self.caught / self.bad if self.bad else 1.0


def rates(judged: Iterable[Judged]) -> Rates:
    """The rates of a list."""
    found = list(judged)
    bad = [one for one in found if not one.candidate.good]
    good = [one for one in found if one.candidate.good]
    return Rates(len(bad), len(good), sum(one.held_back for one in bad), sum(one.held_back for one in good))
