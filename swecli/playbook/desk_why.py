"""Why a strategy stands in a prompt, or does not: every candidate with the parts that add up to the decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.models.message import Role
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.select import Candidate, select
from swecli.playbook.words import shorten


def why(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """What is thought of each strategy for the last turn's query, turn T7's, or for the words given.

    Worked out from what is believed now; which of them stood in that turn's prompt is what was recorded then.
    """
    query, turn = _asked(desk, args)
    record = desk.sessions.playbook.turns.of(desk.session.id, turn) if turn else None
    info = desk.sessions.interaction_info(turn) if turn else None
    shown, withheld = (info.shown if info else ()), (record.withheld if record else ())
    stale = {bullet.id: bullet.stale for bullet in desk.bullets() if bullet.stale}
    chosen = select(
        desk.bullets(),
        query,
        standings=desk.standings(),
        count=desk.count,
        budget=desk.tokens,
        most=desk.most,
        stale=stale,
        measured=True,
    )
    if not chosen.candidates:
        return Said({"query": query, "candidates": []}, ("There are no strategies yet.",))
    rows = tuple(_row(c, turn, shown, withheld) for c in chosen.candidates)
    then = (f"in T{turn}",) if turn else ()
    head = ("id", "now", "relevance × value = score", "tokens", "because", *then, "strategy")
    value = {
        "query": query,
        "turn": turn or None,
        "tokens": chosen.tokens,
        "budget": chosen.budget,
        "candidates": [_json(c, turn, shown, withheld) for c in chosen.candidates],
    }
    off = " · the playbook is off here" if desk.session.playbook.off else ""
    note = f"{chosen.tokens} of {chosen.budget} tokens, with the words around them · for: {shorten(query, 60)}{off}"
    return Said(value, head=head, rows=rows, note=note)


def _asked(desk: PlaybookDesk, args: Sequence[str]) -> tuple[str, int]:
    """The query that is meant, and its turn (0: none)."""
    text = " ".join(args)
    named = short_id("T", text)
    if text and named is None:
        return text, 0
    turn = int(named.removeprefix("T-")) if named else desk.session.interactions
    if not 1 <= turn <= desk.session.interactions:
        if named:
            raise BadInput(
                f"There is no turn T{turn} in this session.", f"Use {desk.command} why WORDS for a question."
            )
        return "", 0
    desk.sessions.load_back_to(turn)
    said = [m.content for m in desk.session.messages if m.interaction == turn and m.role is Role.USER]
    return "\n".join(said), turn


def _was(candidate: Candidate, shown: Sequence[str], withheld: Sequence[str]) -> str:
    name = candidate.bullet.id
    return "withheld" if name in withheld else "yes" if name in shown else "no"


def _row(candidate: Candidate, turn: int, shown: Sequence[str], withheld: Sequence[str]) -> tuple[str, ...]:
    product = f"{candidate.relevance:.2f} × {candidate.value:.2f} = {candidate.score:.2f}"
    then = (_was(candidate, shown, withheld),) if turn else ()
    yes = "in" if candidate.chosen else "out"
    return (
        candidate.bullet.id,
        yes,
        product,
        str(candidate.tokens),
        candidate.reason,
        *then,
        shorten(candidate.bullet.content, 40),
    )


def _json(candidate: Candidate, turn: int, shown: Sequence[str], withheld: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"id": candidate.bullet.id, "chosen": candidate.chosen, "reason": candidate.reason}
    for name in ("match", "base", "relevance", "value", "score", "tokens"):
        row[name] = getattr(candidate, name)
    return row | ({"was": _was(candidate, shown, withheld)} if turn else {})
