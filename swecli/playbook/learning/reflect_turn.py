"""Learning from one turn: reflect by rules, ask a model when it is worth it, curate one delta. Touches no store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from swecli.llm.base import ChatModel
from swecli.models.errors import SwecliError
from swecli.models.message import Usage
from swecli.models.playbook import Delta, SessionPlaybook
from swecli.playbook.describe import lines_of
from swecli.playbook.digest import TurnDigest
from swecli.playbook.founded import unfounded
from swecli.playbook.learning.curator import Curator
from swecli.playbook.learning.experience import blames_tests
from swecli.playbook.learning.proposals import AddProposal, Reflection
from swecli.playbook.learning.reflector_model import ModelReflection, ModelReflector
from swecli.playbook.learning.reflector_rules import ExecutionReflector
from swecli.playbook.words import shorten
from swecli.redact import redact

When = Literal["friction", "always", "never", "asked"]
PATIENCE = 60.0  # seconds for all that the model is asked


@dataclass(frozen=True, slots=True)
class Learned:
    """What a turn taught. Nothing is applied yet.

    `delta` is None when nothing changes. `lines` say to the user what it changes; `refused` what was proposed and
    not taken. `usage` and `cost` are the model's part (no request: no tokens, 0.0; unknown price: None), `requests`
    how many there were, `errors` how often it spoke of strategies that were not shown. `failure` is why the model's
    part is missing or not whole; the rules' part never is.
    """

    delta: Delta | None = None
    lines: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    failure: str | None = None
    refused: tuple[str, ...] = ()
    requests: int = 0
    errors: int = 0


def learn_by_rules(
    digest: TurnDigest,
    playbook: SessionPlaybook,
    *,
    reflector: ExecutionReflector | None = None,
    curator: Curator | None = None,
    more: bool = False,
) -> Learned:
    """What the rules see in a turn. Reads its arguments, changes nothing, waits for nothing.

    Args:
        digest: the turn; with a mark in it, only the mark is looked at.
        playbook: the bullets that apply.
        reflector: rules with other thresholds.
        curator: a curator with other limits or the prompt's instructions.
        more: a model is to be asked too: what only counts a bullet as shown is left to `learn`, where its verdict may
            take the place of that.
    """
    by_rules = (reflector or ExecutionReflector()).reflect(digest, playbook)
    if more:
        by_rules = replace(by_rules, tags=tuple(tag for tag in by_rules.tags if tag.tag != "neutral"))
    return _result(curator or Curator(), [by_rules], playbook, digest, ModelReflection(), "rules")


async def learn(
    digest: TurnDigest,
    playbook: SessionPlaybook,
    *,
    model: ChatModel | None,
    template: str,
    reflect_model_when: When = "friction",
    reflector: ExecutionReflector | None = None,
    curator: Curator | None = None,
    patience: float = PATIENCE,
    spent: Callable[[ModelReflection], None] = lambda reflection: None,
    after_rules: bool = False,
    now: Callable[[], tuple[TurnDigest, SessionPlaybook]] | None = None,
) -> Learned:
    """Reflect on a turn and curate what comes of it. Reads its arguments, changes nothing, cancellable at any await.

    Args:
        digest: the turn; with a mark in it, only the mark is looked at and no model is asked.
        playbook: the bullets that apply, as they are now.
        model: who is asked besides the rules; None: nobody.
        template: the system text for that request.
        reflect_model_when: "friction" asks when something failed, was retried, refused or corrected, or worked for the
            first time; "always" on each turn that did something; "never"; "asked" whatever happened.
        reflector: rules with other thresholds.
        curator: a curator with other limits or the prompt's instructions.
        patience: seconds before the model is given up.
        spent: told what the model took when the reflection is cancelled, so that it can be billed.
        after_rules: what `learn_by_rules` saw with `more` is applied already, and not proposed again.
        now: the turn and the bullets as they have become while the model thought; None: nothing changes them.
    """
    curator = curator or Curator()
    by_rules = (reflector or ExecutionReflector()).reflect(digest, playbook)
    if model is None or not worth_asking(digest, by_rules, model, reflect_model_when):
        rest = _rest(by_rules) if after_rules else by_rules
        return _result(curator, [rest], playbook, digest, ModelReflection(), "rules")
    took = await _asked(ModelReflector(model, template), digest, playbook, by_rules, patience, spent)
    if now is not None:
        digest, playbook = now()
        by_rules = (reflector or ExecutionReflector()).reflect(digest, playbook)
    rest = _rest(by_rules) if after_rules else by_rules
    return _result(curator, [rest, _sober(took, by_rules, digest)], playbook, digest, took, model.name)


async def _asked(
    asked: ModelReflector,
    digest: TurnDigest,
    playbook: SessionPlaybook,
    by_rules: Reflection,
    patience: float,
    spent: Callable[[ModelReflection], None],
) -> ModelReflection:
    """What the model said and took; its failure is part of it."""
    failure: str | None = None
    try:
        async with asyncio.timeout(patience):
            await asked.reflect(digest, playbook, by_rules.user_said)
    except TimeoutError:
        failure = f"the model did not answer within {patience:g} s"
    except asyncio.CancelledError:
        spent(asked.spent)
        raise
    except SwecliError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001  a model's fault becomes a visible reason: the rules' part must survive it
        failure = f"{type(error).__name__}: {error}"
    took = asked.spent
    took.failure = redact(shorten(failure, 300)) if failure else took.failure
    return took


def _rest(by_rules: Reflection) -> Reflection:
    """What is left of the rules' part when the rest of it is applied: bullets that were only shown or used."""
    return Reflection(tags=tuple(tag for tag in by_rules.tags if tag.tag == "neutral"))


def worth_asking(digest: TurnDigest, by_rules: Reflection, model: ChatModel | None, when: When) -> bool:
    """Whether a model is asked about this turn. Never for a mark; a turn without calls and friction teaches nothing.

    None is a model that is only not there now.
    """
    offline = model is not None and model.profile.offline
    if when == "never" or digest.mark is not None:
        return False
    if by_rules.friction or when == "asked":
        return True
    if when == "friction":
        return by_rules.novel and not offline
    return bool(digest.calls) or not offline


def _sober(spent: ModelReflection, by_rules: Reflection, digest: TurnDigest) -> Reflection:
    """The model's proposals without blame for tests that only did their work, and without what is counted already."""
    blames = [tag for tag in spent.reflection.tags if by_rules.blameless and tag.tag == "harmful"]
    why = "failing tests blame no strategy where nothing was edited"
    spent.losses = (*spent.losses, *(f"{tag.bullet_id} harmful, in the model's view: {why}" for tag in blames))
    judged = {bullet_id for bullet_id, tag in digest.tagged if tag != "neutral"}
    earlier = digest.previous.tagged if digest.previous and by_rules.user_said else frozenset()
    kept = (
        tag
        for tag in spent.reflection.tags
        if tag not in blames and tag.bullet_id not in judged and (tag.bullet_id, tag.tag) not in earlier
    )
    faulty = {add.content: objection_to(add, digest) for add in spent.reflection.adds}
    told = (f'not learned: "{shorten(redact(content), 60)}": {why}' for content, why in faulty.items() if why)
    spent.losses = (*spent.losses, *told)
    adds = tuple(add for add in spent.reflection.adds if not faulty[add.content])
    return replace(spent.reflection, tags=tuple(kept), adds=adds)


def objection_to(add: AddProposal, digest: TurnDigest) -> str:
    """Why what a model proposes to add is not looked at any further; "" for nothing."""
    if blames_tests(add.content, digest):
        return "it warns of tests that only found a fault"
    return unfounded(add.content, " ".join(item.quote for item in add.evidence), digest)


def _result(
    curator: Curator,
    reflections: Sequence[Reflection],
    playbook: SessionPlaybook,
    digest: TurnDigest,
    spent: ModelReflection,
    author: str,
) -> Learned:
    sifted = curator.curate(reflections, playbook, digest, author=author, refused=spent.losses)
    delta, refused = sifted.delta, tuple(sifted.refused)
    notes = tuple(line for reflection in reflections for line in reflection.lines)
    return Learned(
        delta=delta,
        lines=(*(lines_of(delta) if delta else ()), *notes),
        usage=spent.usage,
        cost=spent.cost,
        failure=spent.failure,
        refused=refused,
        requests=spent.attempts,
        errors=spent.unknown,
    )
