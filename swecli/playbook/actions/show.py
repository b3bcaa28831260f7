"""Actions that show the playbook: its strategies, their evidence and history, and the selection for a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.doubts import ACCEPTED, REPLACES, is_doubt
from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import AppliedDelta, Bullet, Evidence, Scope
from swecli.playbook.action import ActionContext, resolve_file, summarize
from swecli.text import shorten

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.store.session_manager import SessionManager

_LOGGED = 20
_LISTED = 100  # strategies that are printed; `--json` and `--verbose` contain all
_PROMPTS = 10  # prompts and verdicts that are printed of a strategy
# How an outcome's tag is called beside the effects that a reflecting model names.
_EFFECT_OF = {"helpful": "helped", "harmful": "hurt"}
_REACH: dict[Scope, str] = {
    "session": "this session",
    "project": "this project",
    "user": "all projects",
}
_SILENT = "irrelevant"  # exchanges that `show` only counts


def _format_time(moment: datetime | None) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""


@Action(
    Need.SESSION,
    Words(shell_name="N"),
    (
        Flag("--log", "list the newest changes instead (a number: how many)"),
        Flag("--verbose", "with how often each was used, and the project's totals"),
        Flag("--export", "write them to a Markdown file (-: print it)", "FILE"),
        Flag("--force", "overwrite that file"),
    ),
    during_turn=True,
)
def list_(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """List the strategies, those in use first"""
    ctx = ActionContext.of(sessions, asked)
    if "--export" in asked.flags:
        return _export(ctx, asked.flags["--export"], force="--force" in asked.flags)
    if "--log" in asked.flags:
        return _log(ctx)
    if asked.words:
        raise BadInput(
            f"Unexpected argument {asked.words[0]!r:.40}.",
            f"Use {ctx.command} show {asked.words[0]} for a strategy.",
        )
    is_verbose = "--verbose" in asked.flags
    bullets = ctx.bullets()
    if not bullets:
        hint = f"No strategies yet. Add one: {ctx.command} add run the tests with make check"
        notes = _totals(ctx) if is_verbose else ()
        return ActionResult([], (hint,), note=" · ".join(notes))
    return _table(ctx, bullets, verbose=is_verbose)


def _table(ctx: ActionContext, bullets: Sequence[Bullet], *, verbose: bool) -> ActionResult:
    """Format one row per strategy, those in use first, of these the most helpful ones, with where it applies if that is
    not this project; `verbose` adds how often it was used, its scope, and the project's totals."""
    value, rows = [], []
    for bullet in sorted(bullets, key=_rank):
        row = _bullet_json(bullet)
        counts = (str(bullet.helpful), str(bullet.harmful))
        reach = "" if bullet.scope == "project" else f", for {_REACH[bullet.scope]}"
        cells: tuple[str, ...] = (bullet.id, f"{_format_state(bullet)}{reach}", *counts)
        if verbose:
            cells += (str(bullet.uses), bullet.scope)
        value.append(row)
        rows.append((*cells, bullet.content))
    more = ("used", "scope") if verbose else ()
    waiting = sum(bullet.state == "quarantined" for bullet in bullets)
    need = "proposals need" if waiting > 1 else "proposal needs"
    notes = [f"{waiting} {need} your approval: {ctx.command} review"] if waiting else []
    notes += _totals(ctx) if verbose else []
    if not verbose and len(rows) > _LISTED:
        notes.append(f"{len(rows) - _LISTED:,} more: {ctx.command} list --verbose")
        del rows[_LISTED:]
    head = ("id", "state", "helped", "hurt", *more, "strategy")
    return ActionResult(value, head=head, rows=tuple(rows), note=" · ".join(notes))


def _totals(ctx: ActionContext) -> Iterator[str]:
    records = ctx.sessions.turns
    turns = len(records.project_turns(ctx.session))
    spent = records.reflection_cost()
    cost = "at an unknown price" if spent.cost is None else f"for ${spent.cost:.4f}"
    pending = [*records.pending(ctx.session.id), *records.pending_elsewhere(ctx.session)]
    yield f"turns: {turns}, {len(pending)} of them pending reflection"
    yield f"reflection took {spent.requests} requests, {spent.usage.total:,} tokens, {cost}, in all sessions"


def _format_state(bullet: Bullet) -> str:
    """Return the state as listed: "hidden" and "stale" mean that it is not used in prompts, "stale?" that it is, though
    what it names is gone."""
    if bullet.stale:
        return f"{bullet.state}, stale" + ("" if bullet.is_left_out else "?")
    hidden = bullet.state == "active" and bullet.is_held_back
    return "hidden" if hidden else "waits" if bullet.state == "quarantined" else bullet.state


def _rank(bullet: Bullet) -> tuple[bool, float, int]:
    """Return the place in a list: by use, then by the counts that are shown, then by age."""
    return (not bullet.is_live, -bullet.score, bullet.number)


def _bullet_json(bullet: Bullet) -> dict[str, Any]:
    return bullet.to_json() | {"hidden": bullet.is_held_back}


def _export(ctx: ActionContext, file: str, *, force: bool) -> ActionResult:
    # late: only an export needs pydantic
    from swecli.playbook.transfer import to_markdown

    bullets = ctx.bullets()
    text = to_markdown(bullets, ctx.sessions.playbook.evidence_by_id([b.id for b in bullets]))
    if file in ("", "-"):
        return ActionResult({"text": text}, tuple(text.rstrip("\n").split("\n")), exact=text)
    path = resolve_file(file, ctx.asked.folder)
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        hint = f"To overwrite it: {ctx.command} list --export {file} --force"
        raise BadInput(f"{file} already exists.", hint) from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.") from error
    return ActionResult({"file": str(path)}, (f"Written to {file}.",))


def _log(ctx: ActionContext) -> ActionResult:
    count = parse_count(ctx.asked.text, _LOGGED, "changes")
    changes = ctx.sessions.playbook.log(ctx.session, count)
    if not changes:
        return ActionResult([], ("No changes yet.",))
    rows = [
        (
            _format_time(d.created_at),
            f"T{d.interaction}" if d.interaction else "",
            d.author,
            _format_change(c),
        )
        for c, d in ((change, change.delta) for change in changes)
    ]
    return ActionResult(
        [_delta_json(c) for c in changes], head=("when", "turn", "by", "change"), rows=tuple(rows)
    )


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


def parse_count(text: str, default: int, what: str) -> int:
    """Parse an optional count from 1 to 99,999. Raises UsageError."""
    if text and not (text.isdecimal() and len(text) < 6 and int(text)):
        raise UsageError(f"{text!r:.40} is not a number of {what}.", "Give a number from 1.")
    return int(text or default)


@Action(Need.SESSION, Words("P-7"), during_turn=True)
def show(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Show one with its evidence, its changes and the turns that had it"""
    ctx = ActionContext.of(sessions, asked)
    store = sessions.playbook
    bullet = ctx.find(asked.text, include_deleted=True)
    evidence, verdicts = store.evidence(bullet.id), store.evidence(bullet.id, verdicts=True)
    changes, turns = store.changes(bullet.id), store.prompts(bullet.id, _PROMPTS)
    reach = f"for {_REACH[bullet.scope]}"
    facts = f"{bullet.kind} · {reach} · {_format_state(bullet)} · from {bullet.trust}"
    lines = [f"{bullet.id}  {bullet.content}", f"{facts} · used {bullet.uses} times"]
    lines += [f"when: {bullet.when}"] if bullet.when else []
    lines.append(_format_counts(bullet, verdicts))
    lines += [f"stale: {bullet.stale}"] if bullet.stale else []
    lines += format_sources(ctx, evidence)
    told = [item for item in verdicts if not item.quote.startswith(_SILENT)]
    lines += [_format_verdict(ctx, item) for item in told[-_PROMPTS:]]
    lines += [
        f"{_format_time(c.delta.created_at)}  {c.delta.author}: {_format_change(c)}"
        for c in changes
    ]
    lines.append(f"in the prompt of {_format_turns(ctx, turns)}" if turns else "not used yet")
    value = _bullet_json(bullet) | {
        "evidence": [_evidence_json(item) for item in evidence],
        "verdicts": [_evidence_json(item) for item in verdicts],
        "history": [_delta_json(c) for c in changes],
        "prompts": [{"session": session, "turn": number} for session, number in turns],
    }
    return ActionResult(value, tuple(lines))


def _format_verdict(ctx: ActionContext, item: Evidence) -> str:
    """Format what a strategy did in one exchange: the effect, the turn, the reason, and who says so."""
    effect, _, why = item.quote.partition(":")
    place = f" in {found}" if (found := _format_place(ctx, item)) else ""
    reason = f":{why}" if why.strip() else ""
    return f"{_EFFECT_OF.get(effect, effect)}{place}{reason} ({item.source})"


def _format_turns(ctx: ActionContext, turns: Sequence[tuple[str, int]]) -> str:
    """Format turns, newest first, by session; those of the current session come without a name."""
    by_session: dict[str, list[str]] = {}
    for session, number in turns:
        by_session.setdefault(session, []).append(f"T{number}")
    parts = []
    for session, numbers in by_session.items():
        name = "" if session == ctx.session.id else f" of {ctx.session_name(session)}"
        parts.append(f"{', '.join(numbers)}{name}")
    return "; ".join(parts)


def _format_counts(bullet: Bullet, verdicts: Sequence[Evidence]) -> str:
    """Format the counts of a strategy: what helped and what hurt, and apart from that what is no evidence."""
    effects = Counter(item.quote.partition(":")[0] for item in verdicts)
    refuted = effects["refuted"]
    ignored = effects["ignored"]
    hurt = f"hurt {bullet.harmful}" + (f" ({refuted} refuted)" if refuted else "")
    return f"helped {bullet.helpful} · {hurt} · ignored {ignored} · no effect {bullet.neutral - ignored}"


def format_sources(ctx: ActionContext, evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Format what a strategy was learned from, one line for each quotation, with who wrote it."""
    lines = []
    for item in evidence:
        place = f", {found}" if (found := _format_place(ctx, item)) else ""
        if is_doubt(item):
            lines.append(f"doubt: {item.quote}")
        elif item.source == REPLACES:
            lines.append(f"meant to replace {item.quote}")
        elif item.source == ACCEPTED:
            lines.append(f"you said yes to it{place}")
        else:
            lines.append(f'{_format_writer(item)}{place}: "{item.quote}"')
    return tuple(lines)


def _format_writer(item: Evidence) -> str:
    """Return who wrote the quotation of a source."""
    if item.trust == "user":
        return "you wrote" if item.source == "user" else f"your words, noted by {item.source}"
    if item.call_id:
        return f"in the result of {item.call_id}"
    if item.trust == "web":
        return "on a web page"
    if item.trust == "repository":
        return "in the project's files"
    return f"quoted by {item.source}, not taken as your words"


def _format_place(ctx: ActionContext, item: Evidence) -> str:
    """Return the turn of a quotation, or ""."""
    if not item.interaction:
        return ""
    if item.session_id == ctx.session.id:
        return f"T{item.interaction}"
    return f"T{item.interaction} of {ctx.session_name(item.session_id)}"


def _evidence_json(item: Any) -> dict[str, Any]:
    return asdict(item) | {"created_at": item.created_at.isoformat() if item.created_at else None}


@Action(Need.SESSION, Words("[T7]"), during_turn=True)
def why(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Explain which strategies a turn got"""
    ctx = ActionContext.of(sessions, asked)
    turn = ctx.session.resolve_turn(asked.text)
    choice = sessions.turns.choice(ctx.session.id, turn)
    if choice is None or "chosen" not in choice:
        raise BadInput(
            f"No selection was recorded for T{turn}.",
            "Only finished turns of this version have one.",
        )
    rows, value = [], []
    for name, chosen, match, score, tokens, reason in choice["chosen"]:
        bullet = ctx.sessions.playbook.get(name) or Bullet(name, "(deleted)")
        rows.append((name, "in" if chosen else "out", reason, shorten(bullet.content, 60)))
        value.append({"id": name, "chosen": chosen, "match": match, "score": score, "tokens": tokens,
                      "reason": reason, "content": bullet.content})  # fmt: skip
    notes = [f"{choice['tokens']} of {choice['budget']} tokens"]
    notes += ["others match less"] if choice["more"] else []
    whole = {"turn": turn, "candidates": value} | {
        name: choice[name] for name in ("tokens", "budget", "more")
    }
    if not rows:
        return ActionResult(whole, ("The playbook had no strategies for this turn.",))
    return ActionResult(
        whole,
        head=("id", "prompt", "because", "strategy"),
        rows=tuple(rows),
        note=" · ".join(notes),
    )
