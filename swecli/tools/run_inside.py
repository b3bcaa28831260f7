"""Run a program in the sandbox, and report the protected files that it created."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence

from swecli.tools.guarded_files import find_guarded_files, remove_redirections
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.sandbox import GuardedFiles, Profile, Sandbox

_MAX_NAMED = 20  # files in one line
_CREATED = "it created files that start programs or instruct an assistant; tell the user"


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
    """Run a program in the workspace of an active sandbox, like `run_group`. A mount protects only what exists: of
    protected files that the program created, `on_output` gets a line at the end. Raises ToolError if the workspace
    cannot be listed, OSError and CancelledError."""
    guarded, options = await asyncio.to_thread(_prepare, sandbox, profile, env)
    try:
        with sandbox.confine(options, argv, env) as confined:
            end = await run_group(
                confined.argv,
                cwd=sandbox.root,
                env=confined.env,
                timeout=timeout,
                on_output=on_output,
                pass_fds=(*confined.descriptors, *pass_fds),
                has_monitor=True,
            )
    finally:
        removed = remove_redirections(sandbox.root, guarded)
    if removed:
        on_output(
            f"[removed: {', '.join(removed)}, by which git would read other settings]\n".encode()
        )
    if profile == "workspace":
        now = await asyncio.to_thread(find_guarded_files, sandbox.root, env, profile)
        created = sorted({*now.protected} - {*guarded.protected})
        if created:
            names = [os.path.relpath(path, sandbox.root) for path in created[:_MAX_NAMED]]
            on_output(f"[{_CREATED}: {', '.join(names)}]\n".encode("utf-8", "surrogateescape"))
    return end


def _prepare(
    sandbox: Sandbox, profile: Profile, env: Mapping[str, str]
) -> tuple[GuardedFiles, list[str]]:
    guarded = find_guarded_files(sandbox.root, env, profile)
    return guarded, sandbox.options(profile, guarded)
