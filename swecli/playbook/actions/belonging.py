"""Actions that say whose memory a folder has: take over what another folder left, or begin with nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Invocation, Need, Words
from swecli.models.errors import BadInput
from swecli.playbook.action import ActionContext

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.models.project import LeftMemory
    from swecli.store.projects import ProjectStore
    from swecli.store.session_manager import SessionManager

_SHORTEST = 4  # characters of a commit's id that may stand for it, as git takes them


def list_left(sessions: SessionManager, command: str) -> ActionResult:
    """Return a row for what lies under each key that no folder here has."""
    # late: most lists are of this project
    from swecli.store.projects import ProjectStore

    left_memories = ProjectStore(sessions.database).left_memories()
    if not left_memories:
        return ActionResult([], ("Everything that is stored belongs to a folder that is there.",))
    rows = tuple(
        (
            memory.name,
            str(memory.strategies),
            str(memory.findings),
            str(memory.sessions),
            f"{memory.used_at.astimezone():%Y-%m-%d}" if memory.used_at else "",
        )
        for memory in left_memories
    )
    return ActionResult(
        [memory.to_json() for memory in left_memories],
        head=("was in", "strategies", "findings", "sessions", "used"),
        rows=rows,
        note=f"To take one over for this folder: {command} adopt {left_memories[0].name}",
    )


@Action(Need.SESSION, Words("FOLDER"))
def adopt(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Take over what is stored for another folder; it names one of list --all"""
    # late: few folders are moved so that they cannot be told
    from swecli.config.whereabouts import Whereabouts
    from swecli.store.projects import ProjectStore

    ctx = ActionContext.of(sessions, invocation)
    store = ProjectStore(sessions.database)
    memory = _find(store, ctx)
    current_project = ctx.session.project
    if memory.project == current_project:
        raise BadInput(f"This folder has what is stored for {memory.name} already.")
    whereabouts = Whereabouts.of(invocation.folder)
    if store.folders_of(memory.project):  # two folders share it from now on
        is_shared = len(store.folders_of(current_project)) > 1
        store.choose(whereabouts, memory.project, takes=[] if is_shared else [current_project])
        ctx.session.project = memory.project
    else:
        store.move(memory.project, current_project)
    sessions.playbook.refresh(ctx.session)
    line = f"This folder has now what is stored for {memory.name}: {memory.contents}."
    return ActionResult(memory.to_json(), (line,))


def _find(store: ProjectStore, ctx: ActionContext) -> LeftMemory:
    """Return what the user named: a folder, or the key of a project. Raises BadInput."""
    reference = ctx.invocation.text.strip()
    if not reference:
        hint = f"See {ctx.command} list --all, then: {ctx.command} adopt FOLDER"
        raise BadInput("Say which folder's memory to take over.", hint)
    folder = str((ctx.invocation.folder / Path(reference).expanduser()).absolute()).rstrip("/")
    matching = [
        memory
        for memory in store.all_holdings()
        if reference == memory.project
        or folder == memory.folder
        or _is_short_for(reference, memory.project)
    ]
    current_project = ctx.session.project
    others = [memory for memory in matching if memory.project != current_project] or matching
    if len(others) == 1:
        return others[0]
    if others:
        listed = ", ".join(memory.project for memory in others)
        raise BadInput(f"{reference!r} matches more than one project.", f"Use one of: {listed}.")
    raise BadInput(f"Nothing is stored for {reference!r}.", f"See {ctx.command} list --all")


def _is_short_for(reference: str, key: str) -> bool:
    """Return whether a reference is the beginning of the commit that a key is made of."""
    _, _, commit = key.partition("commit:")
    return len(reference) >= _SHORTEST and bool(commit) and commit.startswith(reference.lower())


@Action(Need.SESSION, Words())
def separate(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Begin with an empty memory in this folder, apart from clones and forks of it"""
    # late: as for `adopt`
    from swecli.config.whereabouts import Whereabouts
    from swecli.store.projects import ProjectStore

    ctx = ActionContext.of(sessions, invocation)
    store = ProjectStore(sessions.database)
    current_project = ctx.session.project
    whereabouts = Whereabouts.of(invocation.folder)
    if not store.is_made_of_commit(current_project):
        raise BadInput("No clone or fork shares this folder's memory: its key is its own.")
    key = store.free_key(str(whereabouts.root))
    store.choose(whereabouts, key, sessions_of=current_project)
    ctx.session.project = key
    sessions.playbook.refresh(ctx.session)
    back = f"{ctx.command} adopt {current_project}"
    line = f"This folder has a memory of its own now. Back to what it shared: {back}"
    return ActionResult({"project": key, "shared": current_project}, (line,))
