"""Run a program in the sandbox, and report the protected files that it created."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence

from swecli.tools.base import ToolError
from swecli.tools.guarded_files import find_guarded_files, remove_redirections
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.protected_folders import FileIdentity, identify, restore_links, restore_moved
from swecli.tools.sandbox import GuardedFiles, Profile, Sandbox

_MAX_NAMED = 20  # files in one line
_TRIES = 3  # a program may remove its socket, or a file, between our look at it and its mount
_OWN_ERROR = b"bwrap: "
_CREATED = (
    "it created files that start programs or instruct an assistant, or replaced such; tell the user"
)


async def run_inside(
    sandbox: Sandbox,
    profile: Profile,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float | None,
    on_output: Callable[[bytes], None],
    pass_fds: Collection[int] = (),
) -> ProcessExit:
    """Run a program in the workspace of an active sandbox, like `run_group`. A mount protects only what exists, where
    it lies: of protected files and folders that the program created, or brought there with a folder above, `on_output`
    gets a line at the end, and of links that were put back. Raises ToolError if the workspace cannot be listed or no
    sandbox can be made, OSError and CancelledError."""
    for _ in range(_TRIES):
        guarded, options = await asyncio.to_thread(_prepare, sandbox, profile, env)
        before = {path: identify(path) for path in guarded.protected}
        output = _Output(on_output)
        try:
            with sandbox.confine(options, argv, env) as confined:
                end = await run_group(
                    confined.argv,
                    cwd=sandbox.root,
                    env=confined.env,
                    timeout=timeout,
                    on_output=output.add,
                    pass_fds=(*confined.descriptors, *pass_fds),
                    has_monitor=True,
                )
                has_run = confined.has_ended() or end.reason != "exit"
        finally:
            removed = remove_redirections(sandbox.root, guarded)
            restored = restore_links(sandbox.root, guarded.links)
        if has_run or not output.held:
            break
    else:
        error = output.held.decode("utf-8", "replace").strip()
        raise ToolError(
            f"The command was not run, because no sandbox could be made for it: {error}"
        )
    output.release()
    if removed:
        on_output(
            f"[removed: {', '.join(removed)}, by which git would read other settings]\n".encode()
        )
    if profile == "workspace":
        now = await asyncio.to_thread(find_guarded_files, sandbox.root, env, profile)
        restored += restore_moved(sandbox.root, before, now.protected)
    for line in restored:
        on_output(f"[{line}: no command may replace it]\n".encode("utf-8", "surrogateescape"))
    if profile == "workspace":
        created = [path for path in now.protected if _is_another(path, before)]
        if created:
            names = [os.path.relpath(path, sandbox.root) for path in created[:_MAX_NAMED]]
            on_output(f"[{_CREATED}: {', '.join(names)}]\n".encode("utf-8", "surrogateescape"))
    return end


def _is_another(path: str, before: Mapping[str, FileIdentity | None]) -> bool:
    """Return whether a path is there that was not protected `before`, or that leads to another file now."""
    identity = identify(path)
    if identity is None:
        return False
    if path not in before:
        return True
    # an absent folder of hooks was covered, which left an empty one
    return before[path] is not None and identity != before[path]


class _Output:
    """Passes the output of a command on. What may be an error of bubblewrap itself is `held` until it is known whose
    it is."""

    def __init__(self, on_output: Callable[[bytes], None]) -> None:
        self.held = b""
        self._on_output = on_output
        self._is_first = True

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        is_first = self._is_first
        self._is_first = False
        if self.held or (is_first and piece.startswith(_OWN_ERROR)):
            self.held += piece
        else:
            self._on_output(piece)

    def release(self) -> None:
        """Pass on what was held."""
        if self.held:
            self._on_output(self.held)


def _prepare(
    sandbox: Sandbox, profile: Profile, env: Mapping[str, str]
) -> tuple[GuardedFiles, list[str]]:
    guarded = find_guarded_files(sandbox.root, env, profile)
    return guarded, sandbox.options(profile, guarded)
