"""Compare protected files with what they were before a command, and put back what differs: at its end, and at each look
at a background command."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from swecli.models.errors import ToolError
from swecli.tools.guard import Guard, Writing
from swecli.tools.guarded_files import find_protected_files
from swecli.tools.put_back import look, look_again, put_back
from swecli.tools.sandbox import GuardedFiles, Profile, Sandbox


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
        self._sandbox = sandbox
        self._guard = guard
        self._profile = profile
        self._env = env
        self._before = look(guarded)
        self._is_job = is_job
        self._lock = Lock()  # a look at a job and its end may come at the same time

    def restore(self) -> list[str]:
        """Put back what the command did to protected files since the last look. Returns a line for each."""
        if self._profile == "read-only":
            return []
        with self._lock:
            try:
                now = find_protected_files(self._guard, self._env)
            except ToolError as error:
                return [f"what it did to files that start programs is not known: {error}"]
            root = self._sandbox.root
            lines = put_back(root, self._before, now, self._is_allowed, is_job=self._is_job)
            if self._is_job:
                self._before = look_again(self._before, now)
            return lines

    def _is_allowed(self, name: str) -> bool:
        return self._guard.judge(name).write is Writing.FREE
