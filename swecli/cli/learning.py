"""Learning from a shell: who reflects, what a place knows, and what came of it in words."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import find_paths
from swecli.config.settings import Settings
from swecli.config.trust import is_trusted, project_root
from swecli.context.system_message import load_instructions, load_prompt
from swecli.llm.base import ChatModel
from swecli.llm.default_model import choose_model
from swecli.llm.registry import make_model
from swecli.models.learning_events import PlaybookUpdated

if TYPE_CHECKING:
    from swecli.playbook.learning.parts import LearningEvent
    from swecli.playbook.learning.service import LearningService
    from swecli.store.session_manager import SessionManager


def add_reflecting(parser: argparse.ArgumentParser) -> None:
    """The flags of what reflects."""
    add = parser.add_argument
    add("--rules-only", action="store_true", help="ask no model")
    add("-m", "--model", metavar="PROVIDER/NAME", help="the reflecting model (default: from the settings)")


def open_learning(sessions: SessionManager, settings: Settings, model: ChatModel | None) -> LearningService:
    """Learning that judges each turn by the place of its session, also where the settings have it off."""
    # late: --help and a wrong argument need neither database nor tools
    from swecli.playbook.learning.parts import ReflectorModel  # noqa: PLC0415
    from swecli.playbook.learning.service import LearningService  # noqa: PLC0415
    from swecli.playbook.workspace import Workspaces  # noqa: PLC0415
    from swecli.tools.registry import ToolRegistry  # noqa: PLC0415

    def instructions() -> str:
        session = sessions.current_session
        return _instructions(session.working_directory if session else "")

    tools = frozenset(ToolRegistry.discover().names())
    workspaces = Workspaces(os.environ.get("PATH", ""), tools, instructions)
    every_turn = settings.reflect == "always" or (settings.reflect == "auto" and bool(settings.reflect_model))
    reflector = ReflectorModel(load_prompt("reflect"), model, every_turn=every_turn)
    return LearningService.open(sessions, replace(settings, learn=True), reflector, workspaces)


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
