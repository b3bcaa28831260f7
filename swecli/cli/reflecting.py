"""What reflecting from a shell takes: who is asked, and what a place knows and says."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import find_paths
from swecli.config.settings import Settings
from swecli.config.trust import is_trusted, project_root
from swecli.context.instructions import load_instructions
from swecli.context.prompts import load_prompt
from swecli.llm.base import ChatModel
from swecli.llm.choose import choose_model
from swecli.llm.registry import make_model
from swecli.models.events import PlaybookUpdated
from swecli.playbook.budget import Limits

if TYPE_CHECKING:
    from swecli.agent.learning import Learner
    from swecli.agent.telling import LearningEvent
    from swecli.store.session_manager import SessionManager


def make_learner(sessions: SessionManager, settings: Settings, model: ChatModel | None) -> Learner:
    """A learner that judges each turn by the place of its session."""
    # late: --help and a wrong argument need neither database nor tools
    from swecli.agent.learning import Learner  # noqa: PLC0415
    from swecli.agent.surroundings import Surroundings  # noqa: PLC0415
    from swecli.tools.registry import ToolRegistry  # noqa: PLC0415

    def instructions() -> str:
        session = sessions.current_session
        return _instructions(session.working_directory if session else "")

    tools = frozenset(ToolRegistry.discover().names())
    around = Surroundings(os.environ.get("PATH", ""), tools, instructions)
    limits = Limits(settings.reflect_percent, settings.reflect_usd_per_day)
    return Learner(sessions, load_prompt("reflect"), model, limits=limits, around=around)


@cache
def _instructions(directory: str) -> str:
    """What a prompt says in that directory; where it is gone, only what it says everywhere."""
    own, folder = load_prompt("system"), Path(directory)
    if not directory or not folder.is_dir():
        return own
    trusted = is_trusted(find_paths(os.environ), project_root(folder))
    return f"{own}\n{load_instructions(folder, trusted=trusted).text}"


def reflecting_model(settings: Settings, named: str | None) -> ChatModel | None:
    """Who is asked besides the rules: the one that is named, or as the settings have it. Raises SwecliError."""
    if not (named or settings.reflect_with_model):
        return None
    name = named or settings.reflect_model or choose_model(settings, os.environ).name
    return make_model(name, settings, os.environ)


def lines_of(event: LearningEvent) -> list[str]:
    """What came of a reflection, for people."""
    if isinstance(event, PlaybookUpdated):
        return [*event.lines, *(f"not taken: {line}" for line in event.refused)]
    return [f"reflecting failed: {event.reason}"]
