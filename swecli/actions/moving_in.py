"""Proposals from the memory of another program, from a folder of notes, and from commits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.folders import is_folder, path_exists
from swecli.models.action import ActionResult, Invocation
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, ProviderError
from swecli.models.money import format_dollars
from swecli.playbook.moving_in import MAX_PROPOSALS, Program

if TYPE_CHECKING:
    from swecli.playbook.learning.service import LearningService
    from swecli.playbook.moving_in import Proposal
    from swecli.store.session_manager import SessionManager

GIT = "git"
SOURCES = (*Program, GIT)


def find_others(sources: Sequence[str], folder: Path) -> list[str]:
    """Return which of the sources are another program, git, or a folder or file, and no stored session."""
    return [source for source in sources if _is_other(source, folder)]


def needs_model(sources: Sequence[str], folder: Path) -> bool:
    """Return whether learning from these may ask a model: files are only read."""
    return GIT in sources or not find_others(sources, folder)


def _is_other(source: str, folder: Path) -> bool:
    if source in ("here", "all"):  # sessions
        return False
    is_path = os.sep in source or source.startswith("~")
    return source in SOURCES or is_path or is_folder(folder / source)


async def learn_from_others(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Make proposals from the one source that was named. Raises BadInput for several or for nothing to learn from,
    ProviderError if a model was asked in vain."""
    [source, *more] = invocation.flags["--from"]
    if more:
        raise BadInput("One such source at a time.", f"For example: swecli learn --from {source}")
    if source == GIT:
        return await _learn_from_git(learning, invocation.folder)
    return _learn_from_files(learning.sessions, invocation.folder, source)


def _learn_from_files(sessions: SessionManager, folder: Path, source: str) -> ActionResult:
    """Propose what the memory files of a program, or of a folder, hold. Raises BadInput if there are none."""
    # late: they load the store, which the help needs not
    from swecli.playbook.moving_in import find_markdown, find_memory_files, read_memory_files

    home = Path.home()
    if source in tuple(Program):
        files = find_memory_files(Program(source), home, project_root(folder))
        problem = f"There is no memory of {source} for this project."
    else:
        path = folder / Path(source).expanduser()
        files = find_markdown(path) if path_exists(path) else []
        problem = f"There is no Markdown file in {source}."
    if not files:
        raise BadInput(problem, f"Use --from with {', '.join(SOURCES)}, a folder, or a session.")
    reading = read_memory_files(files, home)
    return _propose(sessions, reading.proposals, reading.left_out, source)


async def _learn_from_git(learning: LearningService, folder: Path) -> ActionResult:
    """Ask a model once what the commits teach that took something back. Raises BadInput without such commits or a
    model, ProviderError if the request fails."""
    # late: as above
    from swecli.agent.sender import send
    from swecli.context.system_message import load_prompt
    from swecli.models.message import RequestRecord
    from swecli.playbook.learning import history
    from swecli.playbook.learning.reflector_model import REFLECTING, Question, ReflectorCall

    # late: as above
    from swecli.tools.history import find_marked_commits

    model = learning.reflector.model
    if model is None:
        raise BadInput("Only a model can learn from commits.", "Name one: -m PROVIDER/NAME.")
    commits = find_marked_commits(project_root(folder))
    if not commits:
        raise BadInput("No commit of the last year takes back, repairs or names a reviewer.")
    question = Question(
        template=load_prompt("history"),
        text=history.build_question(commits),
        schema=history.lessons_schema(),
        read=lambda answer: history.read_answer(answer, commits),
    )
    call: ReflectorCall[history.HistoryAnswer] = ReflectorCall(model.name)
    await learning.reflector.ask(question, call, send)
    sessions = learning.sessions
    current = sessions.current_session
    if current is not None and current.id:  # else the project has no session that could bear it
        record = RequestRecord(model.name, REFLECTING, 0, 0, call.usage, call.cost, 0)
        sessions.record_request(record)
    if call.result is None:
        raise ProviderError(f"{model.name} gave no answer: {call.failure}", "Try again later.")
    cost = "an unknown price" if call.cost is None else format_dollars(call.cost)
    spending = f"{pluralize(len(commits), 'commit')} read, {call.usage.total:,} tokens, {cost}"
    return _propose(sessions, call.result.proposals, [*call.result.left_out], GIT, spending)


def _propose(
    sessions: SessionManager,
    proposals: list[Proposal],
    left_out: list[str],
    source: str,
    spending: str = "",
) -> ActionResult:
    """Store proposals; return how many wait now, where they come from, and what was left out."""
    # late: as above
    from swecli.playbook.moving_in import propose

    session = sessions.session
    sessions.playbook.refresh(session)
    proposed = propose(sessions, session, proposals, f"learned from {source}")
    lines = []
    for name in proposed.added:
        bullet = session.playbook.bullets[name]
        [first, *others] = sessions.playbook.evidence(name)
        more = f" and {len(others)} more" if others else ""
        lines.append(f"{name} {bullet.content} ({first.source}{more})")
    count = pluralize(len(proposed.added), "proposal")
    lines.append(f"{count}, none in use: `swecli playbook review` asks about each.")
    if proposed.known_count:
        lines.append(f"{proposed.known_count} were in the playbook already, or were once.")
    if proposed.left_out_count:
        lines.append(
            f"{proposed.left_out_count} more: decide about these {MAX_PROPOSALS} first, then run it again."
        )
    lines += [f"left out: {line}" for line in left_out]
    value = {
        "added": list(proposed.added),
        "known": proposed.known_count,
        "more": proposed.left_out_count,
        "left_out": left_out,
    }
    return ActionResult(value, tuple(lines), note=spending)
