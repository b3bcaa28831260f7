"""Looking at the playbook: what is in it, where it comes from, and what is known of its effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from swecli.models.playbook import Bullet
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.desk_past import SESSION, delta_json, place, told, when
from swecli.playbook.effect import effects, with_and_without
from swecli.playbook.paired import without_bullet, without_playbook
from swecli.playbook.score import Belief
from swecli.playbook.words import shorten
from swecli.store.records import InteractionInfo

PROMPTS = 20  # that are named of a strategy


def list_all(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Every strategy with counts, score and state."""
    bullets, standings = desk.bullets(), desk.standings()
    off = "The playbook is off here: none of it goes into prompts." if desk.session.playbook.off else ""
    if not bullets:
        return Said([], (f"Nothing learned yet. Teach it: {desk.command} add run the tests with pytest -q",), note=off)
    switched = {"off": desk.session.playbook.off}
    value = [b.to_json() | _scored(standings.of(b.id)) | switched for b in bullets]
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
    evidence, changes = store.evidence(bullet.id), store.history.of(bullet.id)
    turns = store.history.prompts(bullet.id, PROMPTS + 1)
    cut, turns = len(turns) > PROMPTS, turns[:PROMPTS]
    belief = desk.standings().of(bullet.id)
    used = f"last cited {when(bullet.last_used)}" if bullet.last_used else "never cited"
    facts = (bullet.kind, bullet.section, f"for this {bullet.scope}", state_of(bullet), f"from {bullet.trust}", used)
    lines = [f"{bullet.id}  {bullet.content}", " · ".join(facts)]
    counts = f"{bullet.helpful} helpful · {bullet.harmful} harmful · {bullet.neutral} neutral"
    lines.append(f"{counts} · score {score(belief)} ({belief.standing})" if belief.tags else counts)
    if bullet.vouched_at:
        lines.append(f"you took it in again on {when(bullet.vouched_at)}: what spoke against it before counts no more")
    lines += [f"stale: {bullet.stale}"] if bullet.stale else []
    lines += [f"evidence ({item.source}{place(item.session_id, item.interaction)}): {item.quote}" for item in evidence]
    lines += [
        f"{when(c.applied.delta.created_at)}  {c.applied.delta.author}: {told(c.applied, bullet.id)}"
        for c in changes
        if not c.applied.only_counts
    ]
    lines.append(f"in the prompt of {_stood(turns)}{' and more' if cut else ''}" if turns else "in no prompt yet")
    value = bullet.to_json() | _scored(belief) | {"evidence": [_evidence(item) for item in evidence]}
    value["history"] = [delta_json(c.applied) for c in changes]
    value["prompts"] = [{"session": info.session_id, "turn": info.number} for info in turns]
    return Said(value | {"prompts_cut": cut}, tuple(lines))


def _stood(turns: Sequence[InteractionInfo]) -> str:
    """The turns, by session: `T3, T1 of 01a1feb8-5844; T2 of …`."""
    sessions: dict[str, list[str]] = {}
    for info in turns:
        sessions.setdefault(info.session_id, []).append(f"T{info.number}")
    return "; ".join(f"{', '.join(names)} of {session[:SESSION]}" for session, names in sessions.items())


def _evidence(item: Any) -> dict[str, Any]:
    return asdict(item) | {"created_at": item.created_at.isoformat() if item.created_at else None}


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
        f"{len(bullets)} {'strategy' if len(bullets) == 1 else 'strategies'}: {_counted(states)}"
        if bullets
        else "no strategies",
        f"for: {_counted(scopes)}" if bullets else "for: nobody",
        *([f"{value['stale']} of them stale: what they name is gone"] if value["stale"] else ()),
        *(["the playbook is off here: none of it goes into prompts"] if value["off"] else ()),
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
