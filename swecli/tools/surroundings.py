"""What a model should know about the folder it works in before it looks: git, shell, Python, the top-level names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.file_names import write_name
from swecli.models.errors import BadInput
from swecli.models.notes import Label, SituationNote
from swecli.text import one_line, truncate

if TYPE_CHECKING:
    from swecli.tools.git import RepositoryState

# Seconds that a turn waits for new notes. In a folder where git is slower, they come one turn later; the first turn has
# none to fall back on, and reading begins long before it.
_PATIENCE = 0.05
_FIRST_PATIENCE = 1.0
_NEW = 5.0  # seconds for which notes that were read ahead of a turn are those of that turn
_GIT_SECONDS = 5.0
_MAX_NAMES = 40
_MAX_CONFLICTS = 5  # files named
_MAX_SUBJECT = 72  # characters
_VENVS = (".venv", "venv")


class Surroundings:
    """Reads the notes on a folder in a thread, because git may be slow."""

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self._root = root
        self._environ = environ
        self._thread: Thread | None = None  # the reading whose notes were not asked for yet
        self._began = 0.0
        self._notes: tuple[SituationNote, ...] | None = None
        self._git: RepositoryState | None = None

    def begin(self) -> None:
        """Begin to read, unless that has begun, or what was read just now was not asked for yet."""
        is_new = monotonic() - self._began < _NEW
        thread = self._thread
        if thread is not None and (is_new or thread.is_alive()):
            return
        self._began = monotonic()
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def notes(self) -> tuple[SituationNote, ...]:
        """Return the newest notes; those read before if reading takes long."""
        thread = self._thread
        if thread is not None:  # another thread may ask, too, while this one waits
            thread.join(_FIRST_PATIENCE if self._notes is None else _PATIENCE)
            if not thread.is_alive():
                self._thread = None
        return self._notes or ()

    def _read(self) -> None:
        """Read all that is told. What cannot be read is left out."""
        shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        notes = [SituationNote(Label.SHELL, shell)]
        notes += _python_note(self._root, self._environ)
        notes += self._git_notes()
        notes += _names_note(self._root)
        self._notes = tuple(notes)

    def _git_notes(self) -> Iterator[SituationNote]:
        if not os.path.lexists(project_root(self._root) / ".git"):
            return
        # late: a first request is made before the tools are loaded
        from swecli.tools.git import read_state

        try:
            state = read_state(self._root, self._environ, _GIT_SECONDS, self._git)
        except OSError:
            return
        except BadInput as error:
            yield SituationNote(Label.GIT_STATUS, f"unknown: {one_line(error.message)}")
            return
        self._git = state
        branch = one_line(state.branch) or "none, a detached commit"
        yield SituationNote(Label.GIT_BRANCH, branch)
        count = len(state.changed_entries)
        status = [f"{count} changed or new files" if count else "clean"]
        if state.operation:
            status.insert(0, f"{one_line(state.operation)} waits to be continued or aborted")
        if state.conflicts:
            names = ", ".join(write_name(name) for name in state.conflicts[:_MAX_CONFLICTS])
            more = len(state.conflicts) - _MAX_CONFLICTS
            status.append(f"conflicts in {names}" + (f" and {more} more" if more > 0 else ""))
        yield SituationNote(Label.GIT_STATUS, "; ".join(status))
        if state.subjects:
            quoted = [f'"{truncate(one_line(line), _MAX_SUBJECT)}"' for line in state.subjects]
            yield SituationNote(Label.LAST_COMMITS, ", ".join(quoted))


class NoSurroundings(Surroundings):
    """Of a replay or a preview, which describe no folder."""

    def __init__(self) -> None:
        super().__init__(Path())

    def begin(self) -> None:
        """Read nothing."""


def _python_note(root: Path, environ: Mapping[str, str] | None) -> Iterator[SituationNote]:
    for venv in _VENVS:
        if (root / venv / "bin/python").exists():
            yield SituationNote(Label.PYTHON, f"{venv}/bin/python")
            return
    # late: as above
    from swecli.tools.own_programs import find_program

    on_path = find_program("python", environ, root) or find_program("python3", environ, root)
    if on_path is not None:
        yield SituationNote(Label.PYTHON, one_line(on_path))


def _names_note(root: Path) -> Iterator[SituationNote]:
    """Yield the note on what is in a folder, hidden names left out."""
    try:
        with os.scandir(root) as entries:
            names = [one_line(e.name) + ("/" if e.is_dir() else "") for e in entries]
    except OSError:
        return
    visible = sorted(name for name in names if not name.startswith("."))
    if not visible:
        return
    more = f" and {len(visible) - _MAX_NAMES} more" if len(visible) > _MAX_NAMES else ""
    yield SituationNote(Label.TOP_LEVEL, f"{', '.join(visible[:_MAX_NAMES])}{more}")
