"""Adds folders to the workspace of a session, as the user names them: `../library`, or `../library:ro` to read only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from swecli.config.paths import Paths
from swecli.config.wide_folders import why_too_wide
from swecli.file_names import write_name
from swecli.models.added_folder import AddedFolder
from swecli.models.errors import BadInput, UsageError
from swecli.values import dataclass

_READ_ONLY = ":ro"  # behind a path, as container programs write it


@dataclass(frozen=True, slots=True)
class FolderAdder:
    """Says which folders can be added to a workspace. `environ` is the user's environment, `program_folders` are
    the places of swecli's own files."""

    workspace: Path
    environ: Mapping[str, str]
    program_folders: Paths

    def add(self, present: Sequence[AddedFolder], text: str, base: Path) -> AddedFolder:
        """Return the folder that a text names, relative to `base`. Raises BadInput if it cannot be added to those that
        are `present`."""
        folder = self.read(text, base)
        for other in present:
            is_same = other.may_change == folder.may_change
            if other.holds(folder.path) and is_same and other.is_there:
                relation = "is" if other.path == folder.path else f"lies in {other.path}, which is"
                raise BadInput(f"{folder.path} {relation} added already.", "/add-dir lists them.")
        return folder

    def read(self, text: str, base: Path) -> AddedFolder:
        """Return the folder that a text names, whatever is added. Raises BadInput with what is wrong with it."""
        name = text.strip().removesuffix(_READ_ONLY)
        may_change = not text.strip().endswith(_READ_ONLY)
        if not name:
            raise UsageError("No folder is named.", "For example: ../library, or ../library:ro")
        written_name = write_name(name)
        try:
            path = base / Path(name).expanduser()
            is_folder = path.is_dir()
            real = path.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(f"{written_name} cannot be added: {error}.", "Name a folder.") from error
        if not path.exists():
            raise BadInput(f"There is no folder {written_name}.", "Name one that exists.")
        if not is_folder:
            raise BadInput(
                f"{written_name} is not a folder.", f"Add the one that it is in: {real.parent}"
            )
        if write_name(str(real)) != str(real):
            raise BadInput(
                f"{write_name(str(real))} has characters in its path that cannot be seen."
            )
        self._check(real, may_change=may_change)
        return AddedFolder(str(real), may_change)

    def _check(self, folder: Path, *, may_change: bool) -> None:
        """Raise BadInput if a folder that exists cannot be added."""
        workspace = self.workspace.resolve()
        if reason := why_too_wide(folder, self.environ):
            raise BadInput(f"{folder} {reason}: it is not added.", "Name a project in it.")
        if folder.is_relative_to(workspace):
            raise BadInput(f"{folder} is there already: it lies in the folder of this session.")
        if workspace.is_relative_to(folder):
            hint = f"Start there instead: swecli -C {folder}"
            raise BadInput(f"{folder} holds the folder of this session.", hint)
        paths = self.program_folders
        for program_folder in {paths.config, paths.data, paths.state, paths.cache}:
            place = program_folder.resolve()
            if place.is_relative_to(folder) or folder.is_relative_to(place):
                raise BadInput(f"{folder} holds files of swecli itself: it is not added.")
        programs = self._programs_in(folder) if may_change else ""
        if programs:
            hint = f"Add it to read only: {folder}{_READ_ONLY}"
            raise BadInput(
                f"{folder} holds programs that you start ({programs} is on the PATH).", hint
            )

    def _programs_in(self, folder: Path) -> str:
        """Return the first folder on the PATH that lies in this one, "" if none does: a command could replace programs
        there."""
        for entry in self.environ.get("PATH", "").split(os.pathsep):
            if entry.startswith("/") and Path(entry).resolve().is_relative_to(folder):
                return entry
        return ""


def with_folder(present: Sequence[AddedFolder], folder: AddedFolder) -> tuple[AddedFolder, ...]:
    """Return the folders with another one, in place of the one with the same path."""
    others = [other for other in present if other.path != folder.path]
    return tuple(sorted([*others, folder], key=lambda each: each.path))


def without_folder(
    present: Sequence[AddedFolder], text: str, base: Path
) -> tuple[tuple[AddedFolder, ...], AddedFolder]:
    """Return the folders without the one that a text names, and that one. Raises BadInput if there is none."""
    name = text.strip().removesuffix(_READ_ONLY)
    path = os.path.normpath(base / Path(name).expanduser())
    for folder in present:
        if folder.path in (path, os.path.realpath(path)):
            return tuple(other for other in present if other != folder), folder
    raise BadInput(f"{write_name(name)} is no added folder.", "/add-dir lists them.")
