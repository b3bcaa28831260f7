"""`swecli learn --from claude|codex|qwen|copilot|FOLDER|git`: proposals from other programs and from commits."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.subcommands import open_sessions
from swecli.cli.workspace import working_folder
from swecli.config.paths import project_root
from swecli.context.system_message import load_prompt
from swecli.models.action import ActionResult
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, ProviderError
from swecli.models.money import format_dollars
from swecli.playbook.moving_in import MAX_PROPOSALS, Program

if TYPE_CHECKING:
    from swecli.llm.base import ChatModel
    from swecli.playbook.moving_in import Proposal
    from swecli.store.session_manager import SessionManager

GIT = "git"
SOURCES = (*Program, GIT)


def is_other_memory(source: str, folder: Path) -> bool:
    """Return whether a source is another program, git, or a folder or file, and no stored session."""
    if source in ("here", "all"):
        return False
    is_path = os.sep in source or source.startswith("~")
    return source in SOURCES or is_path or (folder / source).is_dir()


def learn_from_files(args: argparse.Namespace, source: str) -> ActionResult:
    """Propose what the memory files of a program, or of a folder, hold. Raises BadInput if there are none."""
    # late: --help needs neither
    from swecli.playbook.moving_in import find_markdown, find_memory_files, read_memory_files

    folder = working_folder(args.cwd)
    home = Path.home()
    if source in tuple(Program):
        files = find_memory_files(Program(source), home, project_root(folder))
        place = f"the memory of {source} for this project"
    else:
        path = folder / Path(source).expanduser()
        files = find_markdown(path) if path.exists() else []
        place = f"a Markdown file in {source}"
    if not files:
        raise BadInput(f"There is no {place.removeprefix('a ').removeprefix('the ')}.", _LIST)
    reading = read_memory_files(files, home)
    with open_sessions(args, create=True, resume=True) as sessions:
        return _propose(sessions, reading.proposals, reading.left_out, source)


_LIST = f"Use --from with {', '.join(SOURCES)}, a folder, or a session."


def learn_from_git(args: argparse.Namespace, model: ChatModel | None) -> ActionResult:
    """Ask a model once what the commits teach that took something back. Raises BadInput without such commits or a
    model, ProviderError if the request fails."""
    # late: as above
    from swecli.agent.sender import send
    from swecli.models.message import RequestRecord
    from swecli.playbook.learning.history import (
        HistoryAnswer,
        build_question,
        lessons_schema,
        read_answer,
    )
    from swecli.playbook.learning.reflector_model import (
        REFLECTING,
        Question,
        ReflectorCall,
        ReflectorModel,
    )
    from swecli.tools.history import find_marked_commits

    if model is None:
        raise BadInput("Only a model can learn from commits.", "Name one: -m PROVIDER/NAME.")
    root = project_root(working_folder(args.cwd))
    commits = find_marked_commits(root)
    if not commits:
        raise BadInput("No commit of the last year takes back, repairs or names a reviewer.")
    question = Question(
        template=load_prompt("history"),
        text=build_question(commits),
        schema=lessons_schema(),
        read=lambda answer: read_answer(answer, commits),
    )
    call: ReflectorCall[HistoryAnswer] = ReflectorCall(model.name)
    asyncio.run(ReflectorModel(question.template, model).ask(question, call, send))
    if call.found is None:
        raise ProviderError(f"{model.name} gave no answer: {call.failure}", "Try again later.")
    cost = "an unknown price" if call.cost is None else format_dollars(call.cost)
    spent = f"{pluralize(len(commits), 'commit')} read, {call.usage.total:,} tokens, {cost}"
    with open_sessions(args, create=True, resume=True) as sessions:
        if sessions.session.id:  # else the project has no session that could bear it
            record = RequestRecord(model.name, REFLECTING, 0, 0, call.usage, call.cost, 0)
            sessions.record_request(record)
        return _propose(sessions, call.found.proposals, [*call.found.left_out], GIT, spent)


def _propose(
    sessions: SessionManager,
    proposals: list[Proposal],
    left_out: list[str],
    source: str,
    spent: str = "",
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
    if proposed.known:
        lines.append(f"{proposed.known} were in the playbook already, or were once.")
    if proposed.more:
        lines.append(
            f"{proposed.more} more: decide about these {MAX_PROPOSALS} first, then run it again."
        )
    lines += [f"left out: {line}" for line in left_out]
    value = {
        "added": list(proposed.added),
        "known": proposed.known,
        "more": proposed.more,
        "left_out": left_out,
    }
    return ActionResult(value, tuple(lines), note=spent)
