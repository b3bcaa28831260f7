"""What a reflector proposes: tags for bullets, new bullets, and lines for the user. Nothing of it is applied yet."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.playbook import Evidence, Kind, Scope, Tag, Trust
from swecli.playbook.signals import About


@dataclass(frozen=True, slots=True)
class TagProposal:
    """A verdict on one bullet. `source` is the signal's name (see `signals.WEIGHTS`), `why` a line for the user."""

    bullet_id: str
    tag: Tag
    why: str
    weight: float
    source: str = ""
    about: About = "turn"
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class AddProposal:
    """A new bullet. `replaces` says that the user put it in the place of what was believed before."""

    content: str
    section: str
    kind: Kind
    scope: Scope
    trust: Trust
    evidence: tuple[Evidence, ...]
    why: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Reflection:
    """A reflector's proposals for one turn.

    `friction` says that something went wrong, `novel` that something worked for the first time: either is a
    reason to ask a model. `blameless` says that tests failed where nothing was edited: they found a fault, and no
    strategy is to blame. `user_said` are the user's words of judgement, "" when there were none.
    """

    tags: tuple[TagProposal, ...] = ()
    adds: tuple[AddProposal, ...] = ()
    friction: bool = False
    lines: tuple[str, ...] = ()
    novel: bool = False
    blameless: bool = False
    user_said: str = ""
