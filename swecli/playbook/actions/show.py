"""Actions that show the playbook: its strategies, their evidence and history, and the selection for a turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import AppliedDelta, Bullet, EffectCounts, Evidence, Trust
from swecli.playbook.action import ActionContext, resolve_file, summarize
from swecli.playbook.actions.belonging import list_left
from swecli.playbook.team import TEAM
from swecli.text import shorten

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.store.journal.deltas import BulletEvidence
    from swecli.store.session_manager import SessionManager

_TOOL = "remember"  # the source of what the model stores by its tool
_MAX_CHANGES = 20  # changes that are printed if no number is given
_MAX_LISTED = 100  # strategies that are printed; `--json` and `--verbose` contain all
_MAX_TURNS = 10  # turns and verdicts that are printed of a strategy
# How an outcome's tag is called beside the effects that a reflecting model names.
_EFFECT_OF = {"helpful": "helped", "harmful": "hurt"}
_SAID_BY: dict[Trust, str] = {
    "user": "you",
    "reasoning": "a model",
    "repository": "a file",
    "tool": "a result",
    "web": "a page",
}
_COUNTED_ONLY = "irrelevant"  # the effect whose exchanges `show` does not list


def _format_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


@Action(
    Need.SESSION,
    Words(shell_name="N"),
    (
        Flag("--log", "list the newest changes instead (a number: how many)"),
        Flag("--all", "list instead what is stored for folders that are gone"),
        Flag("--verbose", "with the prompts of each, and the project's totals"),
    ),
    during_turn=True,
)
def list_(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """List the strategies, the last used first"""
    ctx = ActionContext.of(sessions, invocation)
    if "--log" in invocation.flags:
        return _log(ctx)
    if "--all" in invocation.flags:
        return list_left(sessions, ctx.command)
    if invocation.words:
        raise BadInput(
            f"Unexpected argument {invocation.words[0]!r:.40}.",
            f"Use {ctx.command} show {invocation.words[0]} for a strategy.",
        )
    is_verbose = "--verbose" in invocation.flags
    bullets = ctx.bullets()
    if not bullets:
        hint = f"No strategies yet. Add one: {ctx.command} add run the tests with make check"
        notes = _totals(ctx) if is_verbose else ()
        return ActionResult([], (hint,), note=" · ".join(notes))
    return _table(ctx, bullets, verbose=is_verbose)


def _table(ctx: ActionContext, bullets: Sequence[Bullet], *, verbose: bool) -> ActionResult:
    """Format one row per strategy, those in use first, of these the last used ones, with where it applies and who said
    it; `verbose` adds in how many prompts it was, and the project's totals."""
    ranked = sorted(bullets, key=_rank)
    effects = ctx.sessions.playbook.effects([bullet.id for bullet in ranked])
    rows = []
    for bullet in ranked:
        origin = (bullet.reach, _SAID_BY[bullet.trust])
        more = (str(bullet.uses),) if verbose else ()
        team = ", team" if bullet.section == TEAM else ""
        state = f"{_format_state(bullet)}{team}"
        summary = effects[bullet.id].summary
        rows.append((bullet.id, state, *origin, summary, *more, bullet.content))
    proposal_count = sum(bullet.state == "quarantined" for bullet in bullets)
    need = "proposals need" if proposal_count > 1 else "proposal needs"
    notes = (
        [f"{proposal_count} {need} your approval: {ctx.command} review"] if proposal_count else []
    )
    if verbose:
        notes += _totals(ctx)
    elif len(rows) > _MAX_LISTED:
        notes.append(f"{len(rows) - _MAX_LISTED:,} more: {ctx.command} list --verbose")
        del rows[_MAX_LISTED:]
    columns = ("prompts",) if verbose else ()
    return ActionResult(
        [_bullet_json(bullet, effects[bullet.id]) for bullet in ranked],
        head=("id", "state", "for", "said by", "effects", *columns, "strategy"),
        rows=tuple(rows),
        note=" · ".join(notes),
    )


def _totals(ctx: ActionContext) -> Iterator[str]:
    records = ctx.sessions.turns
    turns = len(records.project_turns(ctx.session))
    totals = records.reflection_cost()
    cost = "at an unknown price" if totals.cost is None else f"for ${totals.cost:.4f}"
    pending = [*records.pending(ctx.session.id), *records.pending_elsewhere(ctx.session)]
    yield f"turns: {turns}, {len(pending)} of them pending reflection"
    yield f"reflection took {totals.requests} requests, {totals.usage.total:,} tokens, {cost}, in all sessions"


def _format_state(bullet: Bullet) -> str:
    """Return the state as listed: "stale" means that it is not used in prompts, "stale?" that it is, though what it
    names is gone."""
    if bullet.stale:
        return f"{bullet.state}, stale" + ("" if bullet.is_left_out else "?")
    return "waits" if bullet.state == "quarantined" else bullet.state


def _rank(bullet: Bullet) -> tuple[bool, float, int]:
    """Return the place in a list: those in use first, then the last used or added."""
    last = bullet.last_used or bullet.created_at
    return (not bullet.is_live, -last.timestamp(), -bullet.number)


def _bullet_json(bullet: Bullet, effects: EffectCounts) -> dict[str, Any]:
    return bullet.to_json() | {"effects": asdict(effects)}


@Action(
    Need.SESSION,
    Words("[FILE]", "the file to write (none: print it)", is_quoted=True),
    (Flag("--force", "overwrite that file"),),
    during_turn=True,
)
def export(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Write all of them into one Markdown file, to read, edit and import again"""
    # late: only an export needs pydantic
    from swecli.playbook.transfer import to_markdown

    ctx = ActionContext.of(sessions, invocation)
    bullets = ctx.bullets()
    evidence = ctx.sessions.playbook.evidence_by_id([bullet.id for bullet in bullets])
    effects = ctx.sessions.playbook.effects([bullet.id for bullet in bullets])
    text = to_markdown(bullets, evidence, effects)
    file = invocation.text
    if file in ("", "-"):
        return ActionResult({"text": text}, tuple(text.rstrip("\n").split("\n")), exact=text)
    path = resolve_file(file, invocation.folder)
    try:
        with path.open(
            "w" if "--force" in invocation.flags else "x", encoding="utf-8", newline=""
        ) as stream:
            stream.write(text)
    except FileExistsError:
        hint = f"To overwrite it: {ctx.command} export {file} --force"
        raise BadInput(f"{file} already exists.", hint) from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.") from error
    return ActionResult({"file": str(path)}, (f"Written to {file}.",))


def _log(ctx: ActionContext) -> ActionResult:
    count = parse_count(ctx.invocation.text, _MAX_CHANGES, "changes")
    changes = ctx.sessions.playbook.log(ctx.session, count)
    if not changes:
        return ActionResult([], ("No changes yet.",))
    rows = []
    for change in changes:
        delta = change.delta
        turn = f"T{delta.interaction}" if delta.interaction else ""
        rows.append((_format_time(delta.created_at), turn, delta.author, _format_change(change)))
    value = [_delta_json(change) for change in changes]
    return ActionResult(value, head=("when", "turn", "by", "change"), rows=tuple(rows))


def _format_change(applied: AppliedDelta) -> str:
    return summarize(applied) + (" (undone)" if applied.undone else "")


def _delta_json(applied: AppliedDelta) -> dict[str, Any]:
    delta = applied.delta
    return {
        "id": delta.id,
        "author": delta.author,
        "when": delta.created_at.isoformat(),
        "session": delta.session_id,
        "turn": delta.interaction,
        "undone": applied.undone,
        "what": summarize(applied),
        "evidence": [{"id": name, "tag": tag} for name, tag in applied.verdicts],
        "refused": list(delta.refused),
    }


def parse_count(text: str, default: int, noun: str) -> int:
    """Parse an optional count from 1 to 99,999. Raises UsageError."""
    if text and not (text.isdecimal() and len(text) < 6 and int(text)):
        raise UsageError(f"{text!r:.40} is not a number of {noun}.", "Give a number from 1.")
    return int(text or default)


@Action(Need.SESSION, Words("P-7"), during_turn=True)
def show(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Show one with its evidence, its changes and the turns that had it"""
    ctx = ActionContext.of(sessions, invocation)
    store = sessions.playbook
    bullet = ctx.find(invocation.text, include_deleted=True)
    evidence = store.evidence(bullet.id)
    verdicts = store.verdicts(bullet.id)
    changes = store.changes(bullet.id)
    effects = store.effects([bullet.id])[bullet.id]
    prompts = store.turns_shown(bullet.id)
    cited = store.turns_cited(bullet.id)
    lines = [*describe_strategy(bullet, effects), *format_sources(ctx, evidence)]
    listed = [verdict for verdict in verdicts if verdict.label != _COUNTED_ONLY]
    lines += [format_verdict(ctx, verdict) for verdict in listed[-_MAX_TURNS:]]
    for change in changes:
        time = _format_time(change.delta.created_at)
        lines.append(f"{time}  {change.delta.author}: {_format_change(change)}")
    lines.append(_format_uses(ctx, prompts, cited))
    value = _bullet_json(bullet, effects) | {
        "evidence": [_evidence_json(item) for item in evidence],
        "verdicts": [_verdict_json(verdict) for verdict in verdicts],
        "history": [_delta_json(change) for change in changes],
        "prompts": [{"session": session, "turn": number} for session, number in prompts],
        "answers": [{"session": session, "turn": number} for session, number in cited],
    }
    return ActionResult(value, tuple(lines))


def describe_strategy(bullet: Bullet, effects: EffectCounts) -> Iterator[str]:
    """Yield lines on what a strategy says, where it applies, and what it did."""
    origin = f"said by {_SAID_BY[bullet.trust]}"
    yield f"{bullet.id}  {bullet.content}"
    yield f"{bullet.kind} · for {bullet.reach} · {_format_state(bullet)} · {origin}"
    if bullet.when:
        yield f"when: {bullet.when}"
    yield f"effects: {effects.summary or 'none seen yet'}"
    if bullet.stale:
        yield f"stale: {bullet.stale}"
    if bullet.doubt:
        yield f"doubt: {bullet.reason_of_doubt}"


def format_verdict(ctx: ActionContext, verdict: BulletEvidence) -> str:
    """Format what a strategy did in one exchange: the effect, the turn, the reason, and who says so."""
    item = verdict.evidence
    turn = _format_turn(ctx, item)
    place = f" in {turn}" if turn else ""
    reason = f": {item.quote}" if item.quote.strip() else ""
    return f"{_EFFECT_OF.get(verdict.label, verdict.label)}{place}{reason} ({item.source})"


def _format_turns(ctx: ActionContext, turns: Sequence[tuple[str, int]]) -> str:
    """Format turns, newest first, by session; those of the current session come without a name."""
    by_session: dict[str, list[str]] = {}
    for session, number in turns:
        by_session.setdefault(session, []).append(f"T{number}")
    groups = []
    for session, numbers in by_session.items():
        name = "" if session == ctx.session.id else f" of {ctx.session_name(session)}"
        groups.append(f"{', '.join(numbers)}{name}")
    return "; ".join(groups)


def _format_uses(
    ctx: ActionContext, prompts_with_it: Sequence[tuple[str, int]], cited: Sequence[tuple[str, int]]
) -> str:
    """Format in how many prompts a strategy was, and which answers named it."""
    if not prompts_with_it:
        return "in no prompt yet"
    prompts = (
        f"in {pluralize(len(prompts_with_it), 'prompt')} ({_format_newest(ctx, prompts_with_it)})"
    )
    if not cited:
        return f"{prompts}, named in no answer"
    return f"{prompts}, named in {pluralize(len(cited), 'answer')} ({_format_newest(ctx, cited)})"


def _format_newest(ctx: ActionContext, turns: Sequence[tuple[str, int]]) -> str:
    more = len(turns) - _MAX_TURNS
    return _format_turns(ctx, turns[:_MAX_TURNS]) + (f" and {more} more" if more > 0 else "")


def format_sources(ctx: ActionContext, evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Format what a strategy was learned from, one line for each quotation, with who wrote it."""
    lines = []
    for item in evidence:
        turn = _format_turn(ctx, item)
        place = f", {turn}" if turn else ""
        if item.is_consent:
            lines.append(f"you said yes to it{place}")
        else:
            lines.append(f'{_format_writer(item)}{place}: "{item.quote}"')
    return tuple(lines)


def _format_writer(item: Evidence) -> str:
    """Return who wrote the quotation of a source."""
    author = "the model" if item.source == _TOOL else item.source
    if item.trust == "user":
        return "you wrote" if item.source == "user" else f"your words, noted by {author}"
    if item.call_id:
        return f"in the result of {item.call_id}"
    if item.trust == "web":
        return "on a web page"
    if item.trust == "repository":
        return "in the project's files"
    return f"quoted by {author}, not taken as your words"


def _format_turn(ctx: ActionContext, item: Evidence) -> str:
    """Return the turn of a quotation, or ""."""
    if not item.interaction:
        return ""
    if item.session_id == ctx.session.id:
        return f"T{item.interaction}"
    return f"T{item.interaction} of {ctx.session_name(item.session_id)}"


def _evidence_json(item: Evidence) -> dict[str, Any]:
    return asdict(item) | {"created_at": item.created_at.isoformat() if item.created_at else None}


def _verdict_json(verdict: BulletEvidence) -> dict[str, Any]:
    return _evidence_json(verdict.evidence) | {
        "quote": f"{verdict.label}: {verdict.evidence.quote}"
    }


@Action(Need.SESSION, Words("[T7]"), during_turn=True)
def why(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Explain which strategies a turn got"""
    ctx = ActionContext.of(sessions, invocation)
    turn = ctx.session.resolve_turn(invocation.text)
    choice = sessions.turns.choice(ctx.session.id, turn)
    if choice is None or "chosen" not in choice:
        raise BadInput(
            f"No selection was recorded for T{turn}.",
            "Only finished turns of this version have one.",
        )
    rows = []
    candidates = []
    for name, is_chosen, match, *_, tokens, reason in choice["chosen"]:  # 0.2.0 stored also a score
        bullet = ctx.sessions.playbook.get(name) or Bullet(name, "(deleted)")
        rows.append((name, "in" if is_chosen else "out", reason, shorten(bullet.content, 60)))
        candidates.append({"id": name, "chosen": is_chosen, "match": match,
                           "tokens": tokens, "reason": reason, "content": bullet.content})  # fmt: skip
    budget = {name: choice[name] for name in ("tokens", "budget", "more")}
    value = {"turn": turn, "candidates": candidates} | budget
    if not rows:
        return ActionResult(value, ("The playbook had no strategies for this turn.",))
    note = f"{choice['tokens']} of {choice['budget']} tokens"
    if choice["more"]:
        note += " · others match less"
    return ActionResult(
        value,
        head=("id", "prompt", "because", "strategy"),
        rows=tuple(rows),
        note=note,
    )
