"""The user's word on a turn: it counts at once, again after it was taken back, and in the place of an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from swecli.models.ids import uuid7
from swecli.models.playbook import Delta, Evidence, Op, SessionPlaybook, Tag
from swecli.playbook.describe import lines_of
from swecli.playbook.digest import TurnDigest
from swecli.playbook.outcome import verdict_on_turn
from swecli.store.records import Draft, InteractionInfo, MarkedTurn


def marked(
    draft: Draft, digest: TurnDigest, info: InteractionInfo, made: Iterable[Delta], playbook: SessionPlaybook
) -> tuple[Draft, MarkedTurn | None]:
    """What a mark comes to: the draft with a change of its own, and what it makes of the turn; None when the turn is
    marked so already and nothing new was said.

    Args:
        draft: what the mark teaches.
        digest: the turn, with the mark in it.
        info: the turn's record, with its last mark.
        made: the changes that were made of the turn and stand, the oldest first.
        playbook: the strategies that there are.
    """
    back = [] if info.mark == digest.mark else list(_taken_back(made, digest, playbook))
    ops = (*back, *(draft.delta.ops if draft.delta else ()))
    if not ops and (info.mark, info.why) == (digest.mark, digest.why):
        return replace(draft, lines=(*draft.lines, f"T{info.number} was marked {info.mark} before")), None
    verdict = verdict_on_turn(digest)
    outcome = {"good": verdict.good, "weight": verdict.weight, "signal": verdict.signal}
    delta = Delta(  # a mark is a new word each time, also the same one after an undo
        uuid7(), ops, "rules", digest.session_id, digest.interaction, f"mark {digest.mark}", draft.refused
    )
    told = lines_of(replace(delta, ops=tuple(back)))
    return replace(draft, delta=delta, lines=(*told, *draft.lines)), MarkedTurn(digest.mark or "", digest.why, outcome)


def _taken_back(made: Iterable[Delta], digest: TurnDigest, playbook: SessionPlaybook) -> Iterable[Op]:
    """What earlier marks counted for the turn is counted no more: the user changed their mind."""
    counted: Counter[tuple[str, Tag]] = Counter()
    for delta in made:
        if delta.reason.startswith("mark "):
            counted.update((op.bullet_id, op.tag) for op in delta.ops if op.op == "TAG" and op.tag)
            counted.subtract((op.bullet_id, op.tag) for op in delta.ops if op.op == "UNTAG" and op.tag)
    words = f"you marked it {digest.mark} instead"
    why = Evidence("mark", words, digest.session_id, digest.interaction, trust="user")
    for (name, tag), times in counted.items():
        if times > 0 and name in playbook.bullets:
            yield Op("UNTAG", name, tag, evidence=(why,))
