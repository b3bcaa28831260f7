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
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op
from swecli.playbook.action import ActionContext, summarize
from swecli.playbook.actions.questions import BESIDE, OVER, find_questions
from swecli.playbook.actions.show import parse_count
from swecli.playbook.pairs import figures_of, find_open
from swecli.playbook.workspace import find_anchors, note_anchors
from swecli.redact import has_secret, redact
from swecli.store.records import TurnLessons

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


def _delta(ctx: ActionContext, reason: str, *operations: Op) -> Delta:
    return Delta(
        uuid7(), operations, "user", ctx.session.id, ctx.session.interactions or None, reason
    )


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
def add(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Add one for this project, or import an exported playbook"""
    ctx = ActionContext.of(sessions, invocation)
    is_trusted = "--trust" in invocation.flags
    if "--from" in invocation.flags:
        # late: only an import needs pydantic
        from swecli.playbook.transfer import import_file

        return import_file(ctx, invocation.value("--from"), trusted=is_trusted)
    if is_trusted:
        raise ctx.usage_error("--trust goes with --from.", "add --from FILE --trust")
    text = invocation.text
    content = _clean_content(text)
    if not content:
        raise ctx.usage_error("The strategy is empty.", "add TEXT")
    bullets = ctx.bullets()
    evidence = _user_evidence(ctx, content)
    same = [bullet for bullet in bullets if bullet.content.casefold() == content.casefold()]
    if same:
        name = same[0].id
        fields: dict[str, Any] = {"trust": "user"}
        if not same[0].is_live:
            fields["state"] = "active"
        ctx.apply(_delta(ctx, "taught", Op("UPDATE", name, fields, evidence)))
        value: dict[str, Any] = {"added": [], "known": name}
        return ActionResult(value, (f"{name} already covers it and is active.",))
    # late: loads SQLite
    from swecli.playbook.ranking import most_similar

    similar = most_similar(content, (bullet for bullet in bullets if bullet.is_live))
    scope = "project" if ctx.session.project else "session"
    fields = _user_content(content) | {"kind": "preference", "scope": scope}
    applied = ctx.apply(_delta(ctx, "taught", Op("ADD", fields=fields, evidence=evidence)))
    name = applied.added[0]
    note_anchors(ctx.sessions, ctx.session, applied.reworded)
    lines = [f"Added as {name}."]
    if similar:
        advice = f"`{ctx.command} remove {similar.id}` if it is outdated"
        lines.append(f"{similar.id} covers the same: {advice}.")
    value = {"added": [name], "near": similar.id if similar else None}
    return ActionResult(value, tuple(lines), note=_secret_note(text))


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
        Flag("--paths", "the files that it is for, such as bench/**; all: every file", "GLOBS"),
        Flag("--when", "more words that bring it into a prompt", "WORDS"),
    ),
    during_turn=True,
)
def edit(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Change a strategy"""
    ctx = ActionContext.of(sessions, invocation)
    scope = invocation.value("--scope")
    condition = invocation.value("--when")
    paths = invocation.value("--paths").split()
    flags = {_PIN, _ON, _OFF} & invocation.flags.keys()
    bullet = ctx.find("".join(invocation.words[:1]), include_deleted=_ON in flags)
    text = " ".join(invocation.words[1:])
    if not (text or flags or scope or condition or paths):
        usage = f"edit {bullet.id} TEXT, or --pin, --off, --on, --scope user"
        raise ctx.usage_error("There is nothing to change.", usage)
    if _OFF in flags and len(flags) > 1:
        problem = "--off cannot be combined with --on or --pin."
        raise ctx.usage_error(problem, f"edit {bullet.id} --off")
    if "--scope" in invocation.flags and scope not in _SCOPES:
        problem = f"Unknown scope {scope!r:.40} (choose: project, user)."
        raise ctx.usage_error(problem, f"edit {bullet.id} --scope user")
    content = _clean_content(text)
    fields: dict[str, Any] = {"when": condition} if condition else {}
    fields |= _user_content(content) if content else {}
    fields |= {"scope": scope} if scope else {}
    fields |= {"paths": [] if paths == ["all"] else paths} if paths else {}
    fields |= {"state": "disabled"} if _OFF in flags else {}
    if _ON in flags and bullet.state == "active" and not bullet.harmful:
        raise BadInput(f"{bullet.id} is active already.")
    evidence = _user_evidence(ctx, text or " ".join([*flags, scope, *paths, condition]).strip())
    operations = [Op("RESTORE", bullet.id, evidence=evidence)] if _ON in flags else []
    operations += [Op("UPDATE", bullet.id, fields, evidence)] if fields else []
    operations += [Op("PIN", bullet.id, evidence=evidence)] if _PIN in flags else []
    applied = ctx.apply(_delta(ctx, "edited", *operations))
    note_anchors(ctx.sessions, ctx.session, applied.reworded)
    reach = "all your projects" if scope == "user" else f"this {scope}"
    clauses: tuple[tuple[str, object], ...] = (
        ("is changed", text),
        ("matches other words too", condition),
        (f"applies to {reach}", scope),
        (f"is for {'all files' if paths == ['all'] else ', '.join(paths)}", paths),
        ("is pinned: every prompt contains it", _PIN in flags),
        ("is disabled: stored, but not used in prompts", _OFF in flags),
        ("is active", _ON in flags),
    )
    changes = ", ".join(clause for clause, is_true in clauses if is_true)
    return ActionResult(
        {"edited": bullet.id, "what": changes},
        (f"{bullet.id} {changes}.",),
        note=_secret_note(f"{text} {condition}"),
    )


@Action(Need.SESSION, Words("P-7"), during_turn=True)
def remove(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Delete a strategy"""
    ctx = ActionContext.of(sessions, invocation)
    bullet = ctx.find(invocation.text)
    evidence = _user_evidence(ctx, f"remove {bullet.id}")
    ctx.apply(_delta(ctx, "removed", Op("REMOVE", bullet.id, evidence=evidence)))
    line = f"{bullet.id} removed; `{ctx.command} undo` restores it."
    return ActionResult({"removed": bullet.id}, (line,))


@Action(
    Need.SESSION,
    Words("[N]"),
    (Flag("--redo", "redo what was undone instead"),),
    during_turn=True,
)
def undo(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Undo the last N changes"""
    ctx = ActionContext.of(sessions, invocation)
    is_redo = "--redo" in invocation.flags
    count = parse_count(invocation.text, 1, "changes")
    changes = sessions.playbook.undo(ctx.session, count, redo=is_redo)
    label = "redone" if is_redo else "undone"
    describe = _describe if is_redo else _describe_undone
    lines = [f"{label}: {describe(ctx, change)}" for change in changes]
    if len(changes) < count:
        lines.append(f"only {len(changes)} of {count}: there were no more")
    number = f" {len(changes)}" if len(changes) > 1 else ""
    hint = "" if is_redo else f"To redo: `{ctx.command} undo{number} --redo`."
    value = [{"id": change.delta.id, "what": summarize(change)} for change in changes]
    return ActionResult(value, tuple(lines), note=hint)


def _describe_undone(ctx: ActionContext, change: AppliedDelta) -> str:
    """Summarize a change that was undone: of a text that was replaced, with the one that is used again."""
    for name, operation in change.ops_by_id():
        bullet = ctx.sessions.playbook.get(name)
        if operation.op == "UPDATE" and "content" in operation.fields and bullet is not None:
            return f"the change of {name}, which reads again: {bullet.content}"
    return _describe(ctx, change)


def _describe(ctx: ActionContext, change: AppliedDelta) -> str:
    """Summarize a change, adding the content of the first strategy that the summary names by its id only."""
    text = summarize(change)
    for name, operation in change.ops_by_id():
        if operation.op != "ADD" and "content" not in operation.fields:
            bullet = ctx.sessions.playbook.get(name)
            if bullet is not None:
                return f'{text} "{bullet.content}"'
    return text


@Action(Need.SESSION, Words("[P-7 use|remove]"), during_turn=True)
def review(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """List what needs your decision, or decide: P-7 use, P-7 remove, P-2 over P-9, P-2 beside P-9"""
    ctx = ActionContext.of(sessions, invocation)
    if not invocation.words:
        return _list_questions(ctx, find_questions(ctx))
    if len(invocation.words) == 3 and invocation.words[1] in (OVER, BESIDE):
        first, word, second = invocation.words
        return _settle_pair(ctx, ctx.find(first), ctx.find(second), is_instead=word == OVER)
    if len(invocation.words) != 2 or invocation.words[1] not in ("use", "remove"):
        raise ctx.usage_error("A strategy and a decision are required.", "review P-7 use|remove")
    name, decision = invocation.words
    bullet = ctx.find(name)
    if bullet.id not in [question.id for question in find_questions(ctx)]:
        raise BadInput(f"{bullet.id} needs no decision: it is {bullet.state}.")
    quotes = _user_evidence(ctx, f"{decision} {bullet.id}")
    if decision == "use":
        quotes = tuple(replace(quote, is_consent=True) for quote in quotes)
        operations = _accept(bullet, quotes)
        present = [name for name in bullet.replaces if name in ctx.session.playbook.bullets]
        operations += [Op("REMOVE", name, evidence=quotes) for name in present]
        clause = "is active"
        hint = ""
    else:
        operations = [Op("REMOVE", bullet.id, evidence=quotes)]
        clause = "is removed"
        hint = f"`{ctx.command} undo` restores it."
    ctx.apply(_delta(ctx, f"reviewed: {decision}", *operations))
    value = {"id": bullet.id, "decision": decision}
    return ActionResult(value, (f"{bullet.id} {clause}: {bullet.content}",), note=hint)


def _settle_pair(
    ctx: ActionContext, first: Bullet, second: Bullet, *, is_instead: bool
) -> ActionResult:
    """Settle which of two strategies holds: the first one instead of the second one, or both."""
    if first.id == second.id:
        raise BadInput(f"{first.id} cannot be settled with itself.", "Name two strategies.")
    if is_instead:
        evidence = _user_evidence(ctx, f"{first.id} {OVER} {second.id}")
        ctx.apply(_delta(ctx, "settled", Op("REMOVE", second.id, evidence=evidence)))
        hint = f"`{ctx.command} undo` restores it."
        line = f"{second.id} is removed, {first.id} holds: {first.content}"
        return ActionResult({"kept": [first.id], "removed": [second.id]}, (line,), note=hint)
    bullets = ctx.session.playbook.bullets
    both_ids = {first.id, second.id}
    pairs = [pair for pair in find_open(bullets, ctx.sessions.turns) if both_ids == {*pair.ids}]
    if not pairs:
        raise BadInput(f"{first.id} and {second.id} need no decision: both hold already.")
    figures = figures_of(pairs, bullets, is_settled=True)
    ctx.sessions.playbook.record_lessons(ctx.session, TurnLessons(0, figures=figures))
    value: dict[str, Any] = {"kept": [first.id, second.id], "removed": []}
    return ActionResult(value, (f"{first.id} and {second.id} both hold.",))


def _accept(bullet: Bullet, quotes: tuple[Evidence, ...]) -> list[Op]:
    """Return the operations of a yes. A proposal, and what was left out because what it names is gone, becomes the
    user's word: its text was on the screen."""
    if bullet.state == "quarantined" or bullet.is_left_out:
        return [Op("UPDATE", bullet.id, {"state": "active", "trust": "user"}, quotes)]
    operations = [Op("RESTORE", bullet.id, evidence=quotes)]
    return [*operations, Op("PIN", bullet.id)] if bullet.state == "pinned" else operations


def _list_questions(ctx: ActionContext, questions: Sequence[Question]) -> ActionResult:
    """List what waits as lines, and as questions for a screen."""
    if not questions:
        return ActionResult([], ("Nothing to review.",))
    value = [
        {
            "id": question.id,
            "what": question.title,
            "why": question.reason,
            "content": question.content,
        }
        for question in questions
    ]
    lines = list[str]()
    for question in questions:
        texts = question.content.splitlines()
        lines += [f"{texts[0]} ({question.reason})", *(f"  {text}" for text in texts[1:])]
    hint = f"For example: {ctx.command} review {questions[0].answers[0].line}"
    return ActionResult(value, tuple(lines), note=hint, questions=tuple(questions))
