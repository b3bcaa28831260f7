"""Actions that change the playbook. Each change is a delta with the user as its evidence, and can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from swecli.models.action import (
    Action,
    ActionResult,
    Flag,
    Invocation,
    Need,
    Question,
    Words,
)
from swecli.models.doubts import ACCEPTED, doubt_in, is_doubt, replaced_by
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.playbook.action import ActionContext, summarize
from swecli.playbook.actions.show import format_sources, parse_count
from swecli.playbook.workspace import find_anchors, note_anchors
from swecli.redact import has_secret, redact

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.store.session_manager import SessionManager

_PIN, _ON, _OFF = "--pin", "--on", "--off"
_SCOPES = ("session", "project", "user")


def _clean_content(text: str) -> str:
    return redact(" ".join(text.split()))


def _user_evidence(ctx: ActionContext, words: str) -> tuple[Evidence, ...]:
    return (
        Evidence("user", words, ctx.session.id, ctx.session.interactions or None, trust="user"),
    )


def _delta(ctx: ActionContext, reason: str, *ops: Op) -> Delta:
    return Delta(uuid7(), ops, "user", ctx.session.id, ctx.session.interactions or None, reason)


def _secret_note(text: str) -> str:
    return "A secret in it was redacted; `show` prints the stored text." if has_secret(text) else ""


@Action(
    Need.NEW_SESSION,
    Words("[TEXT]"),
    (
        Flag("--from", "import this file", "FILE"),
        Flag("--trust", "use what it contains without a review"),
    ),
    during_turn=True,
)
def add(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Add one for this project, or import an exported playbook"""
    ctx = ActionContext.of(sessions, asked)
    is_trusted = "--trust" in asked.flags
    if "--from" in asked.flags:
        # late: only an import needs pydantic
        from swecli.playbook.transfer import import_file

        return import_file(ctx, asked.flags["--from"], trusted=is_trusted)
    if is_trusted:
        raise ctx.usage_error("--trust goes with --from.", "add --from FILE --trust")
    text = asked.text
    content = _clean_content(text)
    if not content:
        raise ctx.usage_error("The strategy is empty.", "add TEXT")
    known = [bullet for bullet in ctx.bullets() if bullet.content.casefold() == content.casefold()]
    if known:
        more: dict[str, Any] = {"trust": "user"} | ({} if known[0].is_live else {"state": "active"})
        ctx.apply(
            _delta(
                ctx,
                "taught",
                Op("UPDATE", known[0].id, fields=more, evidence=_user_evidence(ctx, content)),
            )
        )
        return ActionResult(
            {"added": [], "known": known[0].id},
            (f"{known[0].id} already covers it and is active.",),
        )
    # late: loads SQLite
    from swecli.playbook.ranking import most_similar

    near = most_similar(content, (bullet for bullet in ctx.bullets() if bullet.is_live))
    fields = _user_content(content) | {
        "kind": "preference",
        "scope": "project" if ctx.session.project else "session",
    }
    applied = ctx.apply(
        _delta(ctx, "taught", Op("ADD", fields=fields, evidence=_user_evidence(ctx, content)))
    )
    name = applied.added[0]
    note_anchors(ctx.sessions, ctx.session, applied.reworded)
    lines = [f"Added as {name}."]
    if near:
        lines.append(
            f"{near.id} covers the same: `{ctx.command} remove {near.id}` if it is outdated."
        )
    return ActionResult(
        {"added": [name], "near": near.id if near else None}, tuple(lines), note=_secret_note(text)
    )


def _user_content(content: str) -> dict[str, Any]:
    return {"content": content, "trust": "user", "anchors": list(find_anchors(content))}


@Action(
    Need.SESSION,
    Words("P-7 [TEXT]"),
    (
        Flag(_PIN, "put it into every prompt"),
        Flag(_OFF, "keep it, but out of prompts"),
        Flag(_ON, "use it again, also one that was removed"),
        Flag("--scope", "where it applies", "project|user"),
        Flag("--when", "more words that bring it into a prompt", "WORDS"),
    ),
    during_turn=True,
)
def edit(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Change a strategy"""
    ctx = ActionContext.of(sessions, asked)
    scope = asked.flags.get("--scope", "")
    when = asked.flags.get("--when", "")
    flags = {_PIN, _ON, _OFF} & asked.flags.keys()
    bullet = ctx.find("".join(asked.words[:1]), include_deleted=_ON in flags)
    text = " ".join(asked.words[1:])
    if not (text or flags or scope or when):
        raise ctx.usage_error(
            "There is nothing to change.",
            f"edit {bullet.id} TEXT, or --pin, --off, --on, --scope user",
        )
    if _OFF in flags and len(flags) > 1:
        raise ctx.usage_error(
            "--off cannot be combined with --on or --pin.", f"edit {bullet.id} --off"
        )
    if "--scope" in asked.flags and scope not in _SCOPES:
        raise ctx.usage_error(
            f"Unknown scope {scope!r:.40} (choose: project, user).",
            f"edit {bullet.id} --scope user",
        )
    content = _clean_content(text)
    fields: dict[str, Any] = {"when": when} if when else {}
    fields |= _user_content(content) if content else {}
    fields |= {"scope": scope} if scope else {}
    fields |= {"state": "disabled"} if _OFF in flags else {}
    if _ON in flags and bullet.state == "active" and not bullet.seems_harmful:
        raise BadInput(f"{bullet.id} is active already.")
    evidence = _user_evidence(ctx, text or " ".join([*flags, scope, when]).strip())
    ops = [Op("RESTORE", bullet.id, evidence=evidence)] if _ON in flags else []
    ops += [Op("UPDATE", bullet.id, fields, evidence)] if fields else []
    ops += [Op("PIN", bullet.id, evidence=evidence)] if _PIN in flags else []
    applied = ctx.apply(_delta(ctx, "edited", *ops))
    note_anchors(ctx.sessions, ctx.session, applied.reworded)
    changes: tuple[tuple[str, object], ...] = (
        ("is changed", text),
        ("matches other words too", when),
        (f"applies to {'all your projects' if scope == 'user' else f'this {scope}'}", scope),
        ("is pinned: every prompt contains it", _PIN in flags),
        ("is disabled: stored, but not used in prompts", _OFF in flags),
        ("is active", _ON in flags),
    )
    done = ", ".join(text for text, is_set in changes if is_set)
    return ActionResult(
        {"edited": bullet.id, "what": done},
        (f"{bullet.id} {done}.",),
        note=_secret_note(f"{text} {when}"),
    )


@Action(Need.SESSION, Words("P-7"), during_turn=True)
def remove(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Delete a strategy"""
    ctx = ActionContext.of(sessions, asked)
    bullet = ctx.find(asked.text)
    ctx.apply(
        _delta(
            ctx,
            "removed",
            Op("REMOVE", bullet.id, evidence=_user_evidence(ctx, f"remove {bullet.id}")),
        )
    )
    return ActionResult(
        {"removed": bullet.id}, (f"{bullet.id} removed; `{ctx.command} undo` restores it.",)
    )


@Action(
    Need.SESSION,
    Words("[N]"),
    (Flag("--redo", "redo what was undone instead"),),
    during_turn=True,
)
def undo(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Undo the last N changes"""
    ctx = ActionContext.of(sessions, asked)
    is_redo = "--redo" in asked.flags
    n = parse_count(asked.text, 1, "changes")
    changes = sessions.playbook.undo(ctx.session, n, redo=is_redo)
    how = "redone" if is_redo else "undone"
    lines = [f"{how}: {_describe(ctx, change)}" for change in changes]
    lines += [f"only {len(changes)} of {n}: there were no more"] if len(changes) < n else []
    many = f" {len(changes)}" if len(changes) > 1 else ""
    hint = "" if is_redo else f"To redo: `{ctx.command} undo{many} --redo`."
    value = [{"id": c.delta.id, "what": summarize(c)} for c in changes]
    return ActionResult(value, tuple(lines), note=hint)


def _describe(ctx: ActionContext, change: Any) -> str:
    """Summarize a change, adding the content of a strategy that the summary names by its id only."""
    text = summarize(change)
    for name, op in change.ops_by_id():
        if (
            op.op != "ADD"
            and "content" not in op.fields
            and (bullet := ctx.sessions.playbook.get(name))
        ):
            text += f' "{bullet.content}"'
            break
    return text


@Action(Need.SESSION, Words("[P-7 use|remove]"), during_turn=True)
def review(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """List suggestions to approve, or decide about one"""
    ctx = ActionContext.of(sessions, asked)
    args = asked.words
    waiting = [bullet for bullet in ctx.bullets() if _needs_review(bullet)]
    evidence = ctx.sessions.playbook.evidence_by_id([bullet.id for bullet in waiting])
    found = {bullet.id: _review_reason(bullet, evidence[bullet.id]) for bullet in waiting}
    if not args:
        return _questions(ctx, found, evidence)
    if len(args) != 2 or args[1] not in ("use", "remove"):
        raise ctx.usage_error("A strategy and a decision are required.", "review P-7 use|remove")
    bullet = ctx.find(args[0])
    if bullet.id not in found:
        raise BadInput(f"{bullet.id} needs no decision: it is {bullet.state}.")
    use = args[1] == "use"
    decision = _user_evidence(ctx, f"{args[1]} {bullet.id}")
    if use:
        decision = tuple(replace(one, source=ACCEPTED) for one in decision)
    ops = [Op("REMOVE", bullet.id, evidence=decision)]
    if use:
        ops = _accept(bullet, decision)
        replaced = replaced_by(evidence[bullet.id])
        present = [name for name in replaced if name in ctx.session.playbook.bullets]
        ops += [Op("REMOVE", name, evidence=decision) for name in present]
    ctx.apply(_delta(ctx, f"reviewed: {args[1]}", *ops))
    done = "is active" if use else "is removed"
    hint = "" if use else f"`{ctx.command} undo` restores it."
    value = {"id": bullet.id, "decision": args[1]}
    return ActionResult(value, (f"{bullet.id} {done}: {bullet.content}",), note=hint)


def _accept(bullet: Bullet, decision: tuple[Evidence, ...]) -> list[Op]:
    """Return the operations of a yes. A proposal, and what was left out because what it names is gone, becomes the
    user's word: its text was on the screen."""
    if bullet.state == "quarantined" or bullet.is_left_out:
        return [Op("UPDATE", bullet.id, {"state": "active", "trust": "user"}, decision)]
    ops = [Op("RESTORE", bullet.id, evidence=decision)]
    return [*ops, Op("PIN", bullet.id)] if bullet.state == "pinned" else ops


def _needs_review(bullet: Bullet) -> bool:
    """Return True for a quarantined, stale or probably harmful strategy."""
    if bullet.state in ("disabled", "deleted"):
        return False
    return bullet.state == "quarantined" or bool(bullet.stale) or bullet.seems_harmful


def _review_reason(bullet: Bullet, evidence: Sequence[Evidence]) -> str:
    if bullet.stale:
        return f"stale: {bullet.stale}"
    if bullet.seems_harmful:
        return f"it seems to do harm: helped {bullet.helpful}, hurt {bullet.harmful}"
    doubt = doubt_in(evidence)
    return doubt.why if doubt else f"it comes from {bullet.trust}"


def _questions(
    ctx: ActionContext, found: dict[str, str], evidence: dict[str, list[Evidence]]
) -> ActionResult:
    value, lines, questions = list[dict[str, str]](), list[str](), list[Question]()
    for name, reason in found.items():
        bullet = ctx.session.playbook.bullets[name]
        value.append({"id": name, "what": bullet.state, "why": reason, "content": bullet.content})
        lines.append(f"{name} {bullet.content} ({reason})")
        said = [item for item in evidence[name] if not is_doubt(item)]  # it is the reason
        questions.append(Question(name, bullet.content, reason, format_sources(ctx, said)))
    hint = f"For example: {ctx.command} review {next(iter(found))} use" if found else ""
    return ActionResult(
        value, tuple(lines) or ("Nothing to review.",), note=hint, questions=tuple(questions)
    )
