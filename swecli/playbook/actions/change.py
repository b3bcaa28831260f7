"""Actions that change the playbook. Each change is a delta with the user as its evidence, and can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from swecli.models.action import ActionResult, Question
from swecli.models.doubts import ACCEPTED, doubt_in, is_doubt, replaced_by
from swecli.models.errors import BadInput, UsageError
from swecli.models.ids import uuid7
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.playbook.action import (
    ACTIONS,
    ActionContext,
    pop_option,
    split_flags,
    summarize,
)
from swecli.playbook.actions.show import VIEWS, format_sources, parse_count
from swecli.playbook.ranking import most_similar
from swecli.playbook.transfer import import_file
from swecli.playbook.workspace import find_anchors, note_anchors
from swecli.redact import has_secret, redact

_FROM, _TRUST, _REDO = "--from", "--trust", "--redo"
_PIN, _ON, _OFF, _SCOPE, _WHEN = "--pin", "--on", "--off", "--scope", "--when"
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


def _add(ctx: ActionContext, args: Sequence[str]) -> ActionResult:
    """Add a strategy to this project, or import an exported playbook."""
    words = list(args)
    if _FROM in words:
        return import_file(ctx, pop_option(words, _FROM), trusted=_TRUST in words)
    text = " ".join(words)
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


def _edit(ctx: ActionContext, args: Sequence[str]) -> ActionResult:
    """Change a strategy's content, state, scope or `when`."""
    words = list(args)
    scope, when = pop_option(words, _SCOPE), pop_option(words, _WHEN)
    flags, words = split_flags(words, _PIN, _ON, _OFF)
    bullet = ctx.find(words[0] if words else "", include_deleted=_ON in flags)
    text = " ".join(words[1:])
    if not (text or flags or scope or when):
        raise ctx.usage_error(
            "There is nothing to change.",
            f"edit {bullet.id} TEXT, or --pin, --off, --on, --scope user",
        )
    if _OFF in flags and len(flags) > 1:
        raise ctx.usage_error(
            "--off cannot be combined with --on or --pin.", f"edit {bullet.id} --off"
        )
    if _SCOPE in args and scope not in _SCOPES:
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


def _remove(ctx: ActionContext, args: Sequence[str]) -> ActionResult:
    bullet = ctx.find(" ".join(args))
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


def _undo(ctx: ActionContext, args: Sequence[str]) -> ActionResult:
    """Undo the last N changes (default 1), or redo them with `--redo`."""
    flags, words = split_flags(args, _REDO)
    n = parse_count(words, 1, "changes")
    changes = ctx.sessions.playbook.undo(ctx.session, n, redo=bool(flags))
    how = "redone" if flags else "undone"
    lines = [f"{how}: {_describe(ctx, change)}" for change in changes]
    lines += [f"only {len(changes)} of {n}: there were no more"] if len(changes) < n else []
    many = f" {len(changes)}" if len(changes) > 1 else ""
    hint = "" if flags else f"To redo: `{ctx.command} undo{many} {_REDO}`."
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


def _review(ctx: ActionContext, args: Sequence[str]) -> ActionResult:
    """List the strategies that need a decision; with `P-7 use` or `P-7 remove`, decide one."""
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


_RUN = {**VIEWS, "add": _add, "edit": _edit, "remove": _remove, "undo": _undo, "review": _review}


def perform(ctx: ActionContext, name: str, args: Sequence[str]) -> ActionResult:
    """Run an action. Raises UsageError if it is unknown, SwecliError if it fails."""
    if name not in ACTIONS:
        raise UsageError(f"Unknown playbook action {name!r:.40}.", f"Choose: {', '.join(ACTIONS)}")
    return _RUN[name](ctx, args)
