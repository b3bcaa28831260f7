"""The situation of a turn: lines `Label: value` in the notes behind the query, sent again only when they change."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from swecli.context.notes import note_lines
from swecli.models.api_message import ApiMessage
from swecli.models.message import Mode

# All labels, in the order of their lines.
LABELS = (
    "Workspace",
    "Platform",
    "Date",
    "Mode",
    "Background jobs running",
    "Shell",
    "Python",
    "Git branch",
    "Git status",
    "Last commits",
    "Top level",
)
_TOP_LEVEL = "Top level"  # goes out of date with every new file: sent once, to know the way
_ENDED = ". The mode before it has ended"
_JOBS = "Background jobs running: "
_MODES: dict[Mode, str] = {
    "ask": "ask. The user may be asked before a file is changed or a program is run",
    "edits": "edits. Files are changed without asking; the user may be asked before a program is run",
    "plan": "plan. Read only: nothing may be changed, and no command run that does more than read, until "
    "the user {end}",
    "auto": "auto. Nothing is asked",
}


def environment_lines(cwd: Path, today: date, platform: str = sys.platform) -> list[str]:
    """Return workspace, platform and date."""
    return [f"Workspace: {cwd}", f"Platform: {platform}", f"Date: {today.isoformat()}"]


def mode_line(mode: Mode, plan_tool: str = "") -> str:
    """Return the permission mode, and what it forbids. `plan_tool` is the name of the tool that ends mode plan."""
    end = f"accepts your plan: show it with {plan_tool}" if plan_tool else "ends this mode"
    return f"Mode: {_MODES[mode].format(end=end)}"


def jobs_line(running: Sequence[str]) -> str:
    """Return the background commands that run."""
    return f"{_JOBS}{', '.join(running) or 'none'}"


def changed_lines(lines: Iterable[str], past: Sequence[ApiMessage]) -> list[str]:
    """Return those of the lines that the messages of a request do not hold as the newest ones of their labels. A new
    mode says that the earlier one has ended; that no job runs is said only of jobs that did."""
    known: dict[str, str] = {}
    for line in note_lines(past):
        known[_label(line)] = line
    changed: list[str] = []
    for line in lines:
        label = _label(line)
        before = known.get(label)
        if before is None:
            if line != jobs_line(()):
                changed.append(line)
        elif label != _TOP_LEVEL and before.removesuffix(_ENDED) != line:
            changed.append(f"{line}{_ENDED}" if label == "Mode" else line)
    return changed


class SituationHistory:
    """What was told in the turns of a session: each turn tells only what has changed."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def follow(self, sent: ApiMessage) -> tuple[str, ...]:
        """Return all lines that held when a query was sent."""
        for line in note_lines([sent]):
            if _label(line) in LABELS:
                self._lines[_label(line)] = line.removesuffix(_ENDED)
        return tuple(self._lines[label] for label in LABELS if label in self._lines)


def _label(line: str) -> str:
    return line.partition(": ")[0]
