"""Looking at the playbook: what is in it, where it comes from, and what is known of its effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.playbook import AppliedDelta, Bullet
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.effect import effects, with_and_without
from swecli.playbook.lineage import Origin, blame, diff_lines
from swecli.playbook.paired import without_bullet, without_playbook
from swecli.playbook.score import Belief
from swecli.playbook.words import shorten

LOGGED = 20


def when(moment: datetime) -> str:
    """A moment as the user's clock has it."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def count_of(args: Sequence[str], default: int, what: str, example: str) -> int:
    """A number of things from an argument. Raises BadInput."""
    text = " ".join(args)
    if text and not (text.isdecimal() and len(text) < 6 and int(text)):
        raise BadInput(f"{text!r:.40} is no number of {what}.", f"For example: {example} 2")
    return int(text or default)


def list_all(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Every strategy with counts, score and state."""
    bullets, standings = desk.bullets(), desk.standings()
    off = "The playbook is off here: none of it goes into prompts." if desk.session.playbook.off else ""
    if not bullets:
        return Said([], (f"Nothing learned yet. Teach it: {desk.command} add run the tests with pytest -q",), note=off)
    value = [b.to_json() | _scored(standings.of(b.id)) for b in bullets]
    rows = tuple((b.id, *_counts(b), state_of(b), b.scope, score(standings.of(b.id)), b.content) for b in bullets)
    head = ("id", "helpful", "harmful", "neutral", "state", "scope", "score", "strategy")
    return Said(value, head=head, rows=rows, note=off)


def _counts(bullet: Bullet) -> tuple[str, str, str]:
    return (str(bullet.helpful), str(bullet.harmful), str(bullet.neutral))


def state_of(bullet: Bullet) -> str:
    """Its state, and what of it is stale."""
    return f"{bullet.state}, stale" if bullet.stale else bullet.state


def score(belief: Belief) -> str:
    """The score with its sign; a dash where no turn told anything."""
    return f"{belief.score:+.2f}" if belief.tags else "–"


def _scored(belief: Belief) -> dict[str, Any]:
    known = {"harmful": belief.harmful, "inert": belief.inert, "helpful": belief.helpful}
    rounded = {name: round(value, 4) for name, value in known.items()}
    return {"score": round(belief.score, 4), "belief": rounded, "standing": belief.standing}


def show(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """One strategy with its evidence, its changes and the prompts it stood in."""
    bullet = desk.find(" ".join(args), gone_too=True)
    store = desk.sessions.playbook
    evidence, changes, turns = store.evidence(bullet.id), store.history.of(bullet.id), store.history.prompts(bullet.id)
    belief = desk.standings().of(bullet.id)
    used = f"last used {when(bullet.last_used)}" if bullet.last_used else "not used yet"
    facts = (bullet.kind, bullet.section, f"for this {bullet.scope}", state_of(bullet), f"from {bullet.trust}", used)
    lines = [f"{bullet.id}  {bullet.content}", " · ".join(facts)]
    counts = f"{bullet.helpful} helpful · {bullet.harmful} harmful · {bullet.neutral} neutral"
    lines.append(f"{counts} · score {score(belief)} ({belief.standing})" if belief.tags else counts)
    if bullet.vouched_at:
        lines.append(f"you took it in again on {when(bullet.vouched_at)}: what spoke against it before counts no more")
    lines += [f"stale: {bullet.stale}"] if bullet.stale else []
    lines += [f"evidence ({item.source}{_turn(item.interaction)}): {item.quote}" for item in evidence]
    lines += [f"{when(c.applied.delta.created_at)}  {c.applied.delta.author}: {c.applied.summary()}" for c in changes]
    stood = ", ".join(f"T{info.number}" for info in turns[:10])
    lines.append(f"in the prompt of {stood}{' and more' if len(turns) > 10 else ''}" if turns else "in no prompt yet")
    value = bullet.to_json() | _scored(belief) | {"evidence": [_evidence(item) for item in evidence]}
    value["history"] = [delta_json(c.applied) for c in changes]
    value["prompts"] = [{"session": info.session_id, "turn": info.number} for info in turns]
    return Said(value, tuple(lines))


def _turn(number: int | None) -> str:
    return f" T{number}" if number else ""


def _evidence(item: Any) -> dict[str, Any]:
    return asdict(item) | {"created_at": item.created_at.isoformat() if item.created_at else None}


def log(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """The changes, newest first."""
    changes = desk.sessions.playbook.log(desk.session, count_of(args, LOGGED, "changes", f"{desk.command} log"))
    if not changes:
        return Said([], ("Nothing was changed yet.",))
    rows = [(when(c.delta.created_at), _turn(c.delta.interaction).strip(), c.delta.author, told(c)) for c in changes]
    return Said([delta_json(c) for c in changes], head=("when", "turn", "by", "change"), rows=tuple(rows))


def told(applied: AppliedDelta) -> str:
    """What a change did, and whether it still stands."""
    return applied.summary() + (" (taken back)" if applied.undone else "")


def delta_json(applied: AppliedDelta) -> dict[str, Any]:
    """A change as plain JSON values."""
    return {
        "id": applied.delta.id,
        "author": applied.delta.author,
        "when": applied.delta.created_at.isoformat(),
        "turn": applied.delta.interaction,
        "undone": applied.undone,
        "what": applied.summary(),
        "refused": list(applied.delta.refused),
    }


def diff(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """What the last change, or the last N, came to."""
    n = count_of(args, 1, "changes", f"{desk.command} diff")
    found = desk.sessions.playbook.history.since(desk.session, n)
    lines = [line for name, before, after in found for line in diff_lines(name, before, after)]
    value = [
        {"id": name, "before": before.to_json() if before else None, "after": after.to_json() if after else None}
        for name, before, after in found
    ]
    return Said(value, tuple(lines) or ("No difference.",))


def trace(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Which change made each field of a strategy what it is."""
    bullet = desk.find(" ".join(args), gone_too=True)
    found = blame(desk.sessions.playbook.history.of(bullet.id))
    if not found:
        return Said([], (f"{bullet.id} came with a copied session: its changes stayed there.",))
    rows = tuple((o.field, shorten(str(o.value), 40), o.by.delta.author, _place(o), o.to_json()["why"]) for o in found)
    return Said([o.to_json() for o in found], head=("field", "value", "by", "when", "why"), rows=rows)


def _place(origin: Origin) -> str:
    delta = origin.by.delta
    return f"{when(delta.created_at)}{_turn(delta.interaction)}"


def stats(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """How much there is, how turns went, and what reflecting took."""
    bullets, records = desk.bullets(), desk.sessions.playbook.turns.here(desk.session)
    states, scopes = Counter(b.state for b in bullets), Counter(b.scope for b in bullets)
    known = [r for r in records if r.good is not None]
    spent = desk.sessions.playbook.spent()
    value: dict[str, Any] = {
        "strategies": len(bullets),
        "states": dict(states),
        "scopes": dict(scopes),
        "stale": sum(bool(b.stale) for b in bullets),
        "off": desk.session.playbook.off,
        "turns": len(records),
        "turns_with_outcome": len(known),
        "turns_good": sum(bool(r.good) for r in known),
        "reflector_errors": sum(r.errors + len(r.unknown) for r in records),
        "waiting": desk.sessions.playbook.waiting_in_project(desk.session),
        "reflection": {"requests": spent.requests, "tokens": spent.usage.total, "cost": spent.cost},
    }
    cost = "an unknown price" if spent.cost is None else f"${spent.cost:.4f}"
    lines = (
        f"{len(bullets)} strategies: {_counted(states)}" if bullets else "no strategies",
        f"for: {_counted(scopes)}" if bullets else "for: nobody",
        f"{len(records)} turns looked at, {len(known)} with a known outcome, {value['turns_good']} of them good",
        f"{value['reflector_errors']} mentions of strategies that were not shown (dropped)",
        f"{value['waiting']} turns of this project wait to be reflected on",
        f"reflecting took {spent.requests} requests, {spent.usage.total:,} tokens, {cost}, in all sessions",
    )
    return Said(value, lines)


def _counted(counts: Counter[Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def effect(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Use and outcomes of each strategy, with 95 % intervals where there is enough data."""
    records = desk.sessions.playbook.turns.here(desk.session)
    bullets = [desk.find(" ".join(args))] if args else desk.bullets()
    found = effects(bullets, records)
    on, off = with_and_without(records)
    by_pairs = {bullet.id: without_bullet(records, bullet.id) for bullet in bullets}
    rows = tuple(
        (
            e.bullet.id,
            f"{e.shown} / {e.cited} / {e.withheld}",
            e.when_cited.told(),
            e.verdict if not by_pairs[e.bullet.id].count else by_pairs[e.bullet.id].told(),
            shorten(e.bullet.content, 40),
        )
        for e in found
    )
    head = ("id", "shown / cited / withheld", "went well when cited", "shown against withheld", "strategy")
    whole = without_playbook(records)
    value = {
        "strategies": [e.to_json() | {"paired": by_pairs[e.bullet.id].to_json()} for e in found],
        "playbook": {"on": on.to_json(), "off": off.to_json(), "paired": whole.to_json()},
    }
    if not found:
        return Said(value, ("There are no strategies yet.",))
    return Said(value, head=head, rows=rows, note=f"playbook on against off, ablation turns: {whole.told()}")
