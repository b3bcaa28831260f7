"""The situation of a turn: notes on what holds when a query is sent, which are sent again only when they change."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from swecli.models.added_folder import AddedFolder
from swecli.models.api_message import ApiMessage, notes_of
from swecli.models.mode import Mode
from swecli.models.notes import Label, Note, SituationNote
from swecli.text import join_surrogates

_MODES: dict[Mode, str] = {
    "ask": "ask. The user may be asked before a file is changed or a program is run",
    "edits": "edits. Files are changed without asking; the user may be asked before a program is run",
    "plan": "plan. Read only: nothing may be changed, and no command run that does more than read, until "
    "the user {end}",
    "auto": "auto. Nothing is asked",
}


def environment_notes(
    cwd: Path, today: date, platform: str = sys.platform
) -> tuple[SituationNote, ...]:
    """Return workspace, platform and date."""
    return (
        SituationNote(Label.WORKSPACE, join_surrogates(str(cwd))),
        SituationNote(Label.PLATFORM, platform),
        SituationNote(Label.DATE, today.isoformat()),
    )


def mode_note(mode: Mode, plan_tool: str = "") -> SituationNote:
    """Return the permission mode, and what it forbids. `plan_tool` is the name of the tool that ends mode plan."""
    end = f"accepts your plan: show it with {plan_tool}" if plan_tool else "ends this mode"
    return SituationNote(Label.MODE, _MODES[mode].format(end=end))


def jobs_note(running: Sequence[str]) -> SituationNote:
    """Return the background commands that run."""
    return SituationNote(Label.JOBS, ", ".join(running) or "none")


def folders_note(folders: Sequence[AddedFolder]) -> SituationNote:
    """Return the folders that the user has added to the workspace."""
    return SituationNote(Label.FOLDERS, ", ".join(map(str, folders)) or "none")


def changed_situation(
    notes: Iterable[SituationNote], past: Iterable[ApiMessage]
) -> list[SituationNote]:
    """Return those of the notes that the messages of a request do not hold as the newest ones of their labels. A new
    mode says that the earlier one has ended; that there is no job or added folder is said only where there was one. The
    names of the top level go out of date with every new file: they are sent once, to know the way."""
    told_situation = Situation()
    for message in past:
        told_situation.follow(notes_of(message))
    changed_notes: list[SituationNote] = []
    for note in notes:
        before = told_situation.find(note.label)
        if before is None:
            if note not in (jobs_note(()), folders_note(())):
                changed_notes.append(note)
        elif before != note and note.label is not Label.TOP_LEVEL:
            changed_notes.append(replace(note, ends_earlier=note.label is Label.MODE))
    return changed_notes


class Situation:
    """What the notes of messages told so far, as each turn tells only what has changed."""

    def __init__(self) -> None:
        self._newest: dict[Label, SituationNote] = {}

    def follow(self, notes: Iterable[Note]) -> None:
        """Take the notes of the next message."""
        for note in notes:
            if isinstance(note, SituationNote):
                self._newest[note.label] = replace(note, ends_earlier=False)

    def find(self, label: Label) -> SituationNote | None:
        """Return what holds of a label; None if nothing was told."""
        return self._newest.get(label)

    def notes(self) -> tuple[SituationNote, ...]:
        """Return all that holds, in the order of the labels."""
        return tuple(self._newest[label] for label in Label if label in self._newest)
