"""Why a strategy stands in a prompt, or does not: every candidate with the parts that add up to the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.models.message import Role
from swecli.models.playbook import Bullet
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.selection.rank import Candidate, SelectionRequest, rank
from swecli.playbook.selection.select import select
from swecli.playbook.words import shorten

HEAD = ("id", "prompt", "relevance × value = score", "tokens", "because", "strategy")
OFF = "the playbook is off"


def why(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """What was thought of each strategy for the last turn, or turn T7; or what is for the words given.

    A turn's decision is kept with it. For words it is worked out from what is believed now, as for a conversation
    that begins with them; so are the figures of a turn that kept none (it did not finish, or is from before that).
    """
    query, turn = _asked(desk, args)
    kept = desk.sessions.playbook.turns.choice(desk.session.id, turn) if turn else None
    if kept is None:
        choice = _now(desk, query)
        choice |= {"off": desk.session.playbook.off and not turn} | (_stood(desk, turn, choice) if turn else {})
    else:
        choice = kept
    return _said(desk, query, turn, choice, recorded=kept is not None)


def _now(desk: PlaybookDesk, query: str) -> dict[str, Any]:
    """What a conversation that begins with a query would be told, by what is believed now."""
    exact = desk.session.window.mode == "fixed" and not desk.session.window.slack
    asked = SelectionRequest(desk.bullets(), query, desk.standings(), desk.count, desk.most, whole_head=exact)
    return select(rank(asked), desk.tokens).measured(desk.count).to_json()


def _stood(desk: PlaybookDesk, turn: int, choice: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a turn's prompt, where its decision was not kept: which strategies stood in it."""
    info = desk.sessions.interaction_info(turn)
    record = desk.sessions.playbook.turns.of(desk.session.id, turn)
    shown = info.shown if info else ()
    rows = []
    for name, chosen, *figures, reason in choice["candidates"]:
        there = name in shown
        said = "it stood in that prompt" if there else "it did not stand in that prompt" if chosen else reason
        rows.append([name, there, *figures, said])
    return {"candidates": rows, "withheld": list(record.withheld) if record else []}


def _said(desk: PlaybookDesk, query: str, turn: int, choice: Mapping[str, Any], *, recorded: bool) -> Said:
    found = list(_candidates(desk, choice))
    off = bool(choice.get("off"))
    value = {
        "query": query,
        "turn": turn or None,
        "recorded": recorded,
        "off": off,
        "tokens": choice["tokens"],
        "budget": choice["budget"],
        "candidates": [_json(candidate) for candidate in found],
    }
    if not found:
        none = f"There were none to choose from in T{turn}." if turn else "There are no strategies yet."
        was = f"The playbook was off in T{turn}." if turn else f"T{OFF[1:]}."
        return Said(value, (was if off else none,))
    parts = [f"{choice['tokens']} of {choice['budget']} tokens, with the words around them"]
    parts += [f"for: {shorten(query, 60)}"] if query else []
    if turn and not recorded:
        parts.append(f"what was decided in T{turn} was not kept: this is what is believed now")
    parts += [f"{OFF} here"] if desk.session.playbook.off else []
    return Said(value, head=HEAD, rows=tuple(_row(candidate) for candidate in found), note=" · ".join(parts))


def _candidates(desk: PlaybookDesk, choice: Mapping[str, Any]) -> Iterator[Candidate]:
    """The candidates in the order in which they were considered; what an ablation turn left out did not stand there."""
    for name, chosen, match, base, value, tokens, reason in choice["candidates"]:
        if choice.get("off"):
            chosen, reason = False, OFF
        elif name in choice.get("withheld", ()):
            chosen, reason = False, "it was withheld, to see what it is worth"
        yield Candidate(_bullet(desk, name), match, base, value, tokens, chosen, reason)


def _asked(desk: PlaybookDesk, args: Sequence[str]) -> tuple[str, int]:
    """The query that is meant, and its turn (0: none)."""
    text = " ".join(args)
    named = short_id("T", f"T{text}" if text.isdecimal() else text)
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


def _bullet(desk: PlaybookDesk, name: str) -> Bullet:
    """As it reads now, also one that was removed since."""
    return desk.session.playbook.bullets.get(name) or desk.sessions.playbook.get(name) or Bullet(name, "(gone)")


def _row(candidate: Candidate) -> tuple[str, ...]:
    product = f"{candidate.relevance:.2f} × {candidate.value:.2f} = {candidate.score:.2f}"
    stood = "in" if candidate.chosen else "out"
    text = shorten(candidate.bullet.content, 40)
    return (candidate.bullet.id, stood, product, str(candidate.tokens), candidate.reason, text)


def _json(candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {"id": candidate.bullet.id, "chosen": candidate.chosen, "reason": candidate.reason}
    for name in ("match", "base", "relevance", "value", "score", "tokens"):
        row[name] = getattr(candidate, name)
    return row | {"content": candidate.bullet.content}
