"""Compare protected files with what they were before a command, and put back what differs: at its end, and at each look
at a background command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from swecli.models.errors import ToolError
from swecli.tools.guard import Guard, Writing
from swecli.tools.guarded_files import find_protected_files
from swecli.tools.put_back import StateBefore, look, look_again, put_back
from swecli.tools.sandbox import GuardedFiles, Profile, Sandbox
from swecli.values import dataclass


class Protection:
    """The protected files of one command. Each method may run in any thread."""

    def __init__(
        self,
        sandbox: Sandbox,
        guard: Guard,
        profile: Profile,
        env: Mapping[str, str],
        guarded: GuardedFiles,
        *,
        is_job: bool,
    ) -> None:
        self._profile = profile
        self._env = env
        self._places = [_Place(sandbox.root, guard, look(guarded))]
        for added in guarded.added:
            if added.folder.may_change:
                inner = guard.for_added(added.folder)
                self._places.append(_Place(inner.root, inner, look(added.files)))
        self._is_job = is_job
        self._lock = Lock()  # a look at a job and its end may come at the same time

    def restore(self) -> list[str]:
        """Put back what the command did to protected files since the last look. Returns a line for each."""
        if self._profile == "read-only":
            return []
        with self._lock:
            return [line for place in self._places for line in self._restore_in(place)]

    def _restore_in(self, place: _Place) -> list[str]:
        if not place.root.is_dir():  # a folder that was added is gone
            return []
        try:
            now = find_protected_files(place.guard, self._env)
        except ToolError as error:
            return [f"what it did to files that start programs is not known: {error}"]
        lines = put_back(place.root, place.before, now, place.is_allowed, is_job=self._is_job)
        if self._is_job:
            place.before = look_again(place.before, now)
        return lines


@dataclass(slots=True)
class _Place:
    """The workspace or an added folder, and what was protected in it at the last look."""

    root: Path
    guard: Guard
    before: StateBefore

    def is_allowed(self, name: str) -> bool:
        """Return whether a change of this relative path needs no question."""
        return self.guard.judge(name).write is Writing.FREE
