"""List, show, add, edit, remove, log and undo the strategies that apply in this directory."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.admin import common, positive, stored, table, tell
from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.models.playbook import AppliedDelta, Bullet
from swecli.models.session import Session
from swecli.playbook.by_hand import adding, editing, removing

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|add|edit|remove|log|undo")
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
    undo.add_argument("n", nargs="?", type=positive, default=1)
    log.add_argument("--limit", type=positive, default=20, metavar="N")
    for action in actions.choices.values():
        common(action)
        action.add_argument("--session", metavar="ID", help="another session than this directory's last")


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for an unknown id or with nothing to undo."""
    # late: --help and a wrong argument need no database
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    with stored(args, make=args.action == "add") as database:
        sessions = SessionManager(database)
        return ACTIONS[args.action](sessions, session_here(sessions, args.session), args)


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
    if args.json or not bullets:
        empty = "Nothing learned yet. Teach it: swecli playbook add run the tests with pytest -q"
        return tell(args, [bullet.to_json() for bullet in bullets], empty)
    rows = [(b.id, b.helpful, b.harmful, b.neutral, b.state, b.scope, b.content) for b in bullets]
    table(rows, ("id", "helpful", "harmful", "neutral", "state", "scope", "strategy"))
    return 0


def _known(sessions: SessionManager, text: str) -> Bullet:
    bullet_id = short_id("P", text) or short_id("P", f"P{text}")
    bullet = sessions.playbook.get(bullet_id) if bullet_id else None
    if bullet is None:
        raise BadInput(f"There is no strategy {text!r}.", "See `swecli playbook list`.")
    return bullet


def _show(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullet = _known(sessions, args.bullet)
    evidence = sessions.playbook.evidence(bullet.id)
    lines = [
        f"{bullet.id}  {bullet.content}",
        f"helpful {bullet.helpful}, harmful {bullet.harmful}, neutral {bullet.neutral}; "
        f"{bullet.kind}, {bullet.section}, {bullet.scope}, {bullet.state}, from {bullet.trust}",
        *(f"  {row.source}{f' (T{row.interaction})' if row.interaction else ''}: {row.quote}" for row in evidence),
    ]
    return tell(args, bullet.to_json() | {"evidence": [asdict(row) for row in evidence]}, "\n".join(lines))


def _add(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    added = sessions.playbook.apply(adding(session, " ".join(args.text)), session).added
    return tell(args, {"added": list(added)}, f"Added as {', '.join(added)}.")


def _edit(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullet = _known(sessions, args.bullet)
    sessions.playbook.apply(editing(session, bullet, " ".join(args.text)), session)
    return tell(args, {"edited": bullet.id}, f"{bullet.id} reworded.")


def _remove(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    bullet = _known(sessions, args.bullet)
    sessions.playbook.apply(removing(session, bullet), session)
    return tell(args, {"removed": bullet.id}, f"{bullet.id} removed; `swecli playbook undo` brings it back.")


def _log(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    rows = sessions.playbook.log(session, args.limit)
    return tell(args, [_delta(row) for row in rows], "\n".join(map(_logged, rows)) or "Nothing was changed yet.")


def _logged(row: AppliedDelta) -> str:
    state = " (undone)" if row.undone else ""
    return f"{row.delta.created_at.astimezone():%Y-%m-%d %H:%M}  {row.delta.author}{state}: {row.summary()}"


def _delta(row: AppliedDelta) -> dict[str, Any]:
    return {
        "id": row.delta.id,
        "author": row.delta.author,
        "when": row.delta.created_at.isoformat(),
        "undone": row.undone,
        "what": row.summary(),
        "refused": list(row.delta.refused),
    }


def _undo(sessions: SessionManager, session: Session, args: argparse.Namespace) -> int:
    undone = sessions.playbook.undo(session, args.n)
    return tell(args, [_delta(row) for row in undone], "\n".join(f"undone: {row.summary()}" for row in undone))


ACTIONS = {"list": _list, "show": _show, "add": _add, "edit": _edit, "remove": _remove, "log": _log, "undo": _undo}
