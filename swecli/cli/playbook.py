"""List, show, add, edit, remove, log and undo the strategies that apply in this directory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swecli.cli.admin import common, database_of, say, say_json, table
from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.ids import short_id, uuid7
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op, OpName
from swecli.models.session import Session
from swecli.store.database import open_database
from swecli.store.session_manager import SessionManager


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="strategies with their counts")
    show = actions.add_parser("show", help="one strategy with its evidence")
    add = actions.add_parser("add", help="teach a strategy for this project")
    edit = actions.add_parser("edit", help="reword a strategy")
    remove = actions.add_parser("remove", help="take a strategy out")
    log = actions.add_parser("log", help="what changed, newest first")
    undo = actions.add_parser("undo", help="take the newest changes back")
    for action in (show, edit, remove):
        action.add_argument("bullet", metavar="ID", help="for example P-7")
    for action in (add, edit):
        action.add_argument("text", nargs="+")
    undo.add_argument("n", nargs="?", type=int, default=1)
    log.add_argument("--limit", type=int, default=20)
    for action in actions.choices.values():
        common(action)
        action.add_argument("--session", metavar="ID", help="another session than this directory's last")


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for an unknown id or with nothing to undo."""
    database = open_database(database_of(args))
    try:
        sessions = SessionManager(database)
        return ACTIONS[args.action](sessions, session_here(sessions, args.session), args)
    finally:
        database.close()


def session_here(sessions: SessionManager, ref: str | None) -> Session:
    """The session whose strategies are meant: the named one, this directory's last, or a blank one of this project."""
    here = str(Path.cwd())
    try:
        return sessions.resume(ref, here)
    except BadInput:
        if ref:
            raise
    blank = Session(id="", working_directory=here, project=str(project_root(Path.cwd())))
    blank.update_playbook(sessions.playbook.load(blank))
    return blank


def _list(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullets = sorted(session.playbook.bullets.values(), key=lambda b: b.number)
    if args.json:
        say_json([bullet.to_json() for bullet in bullets])
    elif not bullets:
        say("Nothing learned yet. Teach it: swecli playbook add run the tests with pytest -q")
    else:
        rows = [(b.id, b.helpful, b.harmful, b.neutral, b.state, b.scope, b.content) for b in bullets]
        table(rows, ("id", "helpful", "harmful", "neutral", "state", "scope", "strategy"))
    return 0


def _known(sessions: SessionManager, text: str) -> Bullet:
    bullet_id = short_id("P", text)
    bullet = sessions.playbook.get(bullet_id) if bullet_id else None
    if bullet is None:
        raise BadInput(f"there is no strategy {text!r}", "See `swecli playbook list`.")
    return bullet


def _show(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullet = _known(sessions, args.bullet)
    evidence = sessions.playbook.evidence(bullet.id)
    if args.json:
        say_json(bullet.to_json() | {"evidence": [_evidence(row) for row in evidence]})
        return 0
    say(f"{bullet.id}  {bullet.content}")
    say(f"helpful {bullet.helpful}, harmful {bullet.harmful}, neutral {bullet.neutral}; {bullet.state}, {bullet.scope}")
    for row in evidence:
        where = f" (T{row.interaction})" if row.interaction else ""
        say(f"  {row.source}{where}: {row.quote}")
    return 0


def _evidence(row: Evidence) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def _change(sessions: SessionManager, session: Session, ops: Sequence[Op]) -> AppliedDelta:
    delta = Delta(id=uuid7(), ops=tuple(ops), author="user", session_id=session.id, reason="from the shell")
    return sessions.playbook.apply(delta, session)


def _op(name: OpName, bullet_id: str = "", **fields: Any) -> Op:
    quote = str(fields.get("content", name.lower()))
    evidence = Evidence(source="user, from the shell", quote=quote, trust="user")
    return Op(name, bullet_id, fields=fields, evidence=(evidence,))


def _add(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    op = _op("ADD", content=" ".join(args.text), scope="project", trust="user", kind="preference")
    applied = _change(sessions, session, [op])
    say_json({"added": list(applied.added)}) if args.json else say(f"Added as {', '.join(applied.added)}.")
    return 0


def _edit(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullet = _known(sessions, args.bullet)
    _change(sessions, session, [_op("UPDATE", bullet.id, content=" ".join(args.text))])
    say(f"{bullet.id} reworded.")
    return 0


def _remove(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullet = _known(sessions, args.bullet)
    _change(sessions, session, [_op("REMOVE", bullet.id)])
    say(f"{bullet.id} removed; `swecli playbook undo` brings it back.")
    return 0


def _log(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    rows = sessions.playbook.log(session, args.limit)
    if args.json:
        say_json([_delta(row) for row in rows])
        return 0
    for row in rows:
        state = " (undone)" if row.undone else ""
        say(f"{row.delta.created_at.astimezone():%Y-%m-%d %H:%M}  {row.delta.author}{state}: {describe(row)}")
    return 0


def describe(row: AppliedDelta) -> str:
    """The operations of a delta in a line."""
    added = iter(row.added)
    parts = [
        f"{op.op.lower()} {op.bullet_id or next(added, '')}{f' {op.tag}' if op.tag else ''}" for op in row.delta.ops
    ]
    return ", ".join(parts) or "nothing"


def _delta(row: AppliedDelta) -> dict[str, Any]:
    return {
        "id": row.delta.id,
        "author": row.delta.author,
        "when": row.delta.created_at,
        "undone": row.undone,
        "what": describe(row),
        "refused": list(row.delta.refused),
    }


def _undo(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    undone = sessions.playbook.undo(session, args.n)
    say_json([_delta(row) for row in undone]) if args.json else say("\n".join(f"undone: {describe(r)}" for r in undone))
    return 0


ACTIONS = {"list": _list, "show": _show, "add": _add, "edit": _edit, "remove": _remove, "log": _log, "undo": _undo}
