"""Run a program in the sandbox, and put back what it did to protected files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace

from swecli.tools.base import ToolError
from swecli.tools.covering import keep_covered
from swecli.tools.guard import Guard
from swecli.tools.guarded_files import find_guarded_files
from swecli.tools.jobs import Watch
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.protection import Protection
from swecli.tools.sandbox import Confined, GuardedFiles, Profile, Sandbox
from swecli.values import dataclass

TRIES = 3  # a program may remove its socket, or a file, between our look at it and its mount
OWN_ERRORS = (b"bwrap: ", b"nsenter: ")


@dataclass(frozen=True, slots=True)
class FurtherAccess:
    """What a program may in the sandbox that a command may not: reach the `network` of the machine, get variables of
    `env` that may be secrets, read what lies outside the workspace at the absolute paths of `readable`, write to the
    existing folders `writable`, also where these are swecli's own, and, while the user works, too, to repositories
    (`commits`)."""

    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    commits: bool = False


NO_FURTHER_ACCESS = FurtherAccess()


async def run_inside(
    sandbox: Sandbox,
    guard: Guard,
    profile: Profile,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float | None,
    on_output: Callable[[bytes], None],
    pass_fds: Collection[int] = (),
    watch: Watch | None = None,
    access: FurtherAccess = NO_FURTHER_ACCESS,
    on_note: Callable[[str], None] | None = None,
    stdin: int = asyncio.subprocess.DEVNULL,
    stderr: int | None = None,
) -> ProcessExit:
    """Run a program in the workspace of an active sandbox, like `run_group`. A mount protects only what exists, where
    it lies: what the program did to protected files and folders in other ways is put back, also if it is cancelled, and
    `on_output`, or `on_note` if it is given, gets a line for each at the end. That of a background command has a
    `watch`, by which it is looked at before. `access` is what it may beside a command. Raises ToolError if the
    workspace cannot be listed or no sandbox can be made, OSError and CancelledError."""
    is_job = watch is not None
    for _ in range(TRIES):
        guarded, options = await asyncio.to_thread(
            _prepare, sandbox, guard, profile, env, access, is_job=is_job
        )
        protection = Protection(sandbox, guard, profile, env, guarded, is_job=is_job)
        if watch is not None:
            watch.restore = protection.restore
        output = _Output(on_output)
        try:
            with (
                sandbox.confine(
                    options, argv, env, profile=profile, network=access.network
                ) as confined,
                _covering(sandbox, guarded, confined),
            ):
                end = await run_group(
                    confined.argv,
                    cwd=sandbox.root,
                    env={**confined.env, **access.env},
                    timeout=timeout,
                    on_output=output.add,
                    pass_fds=(*confined.descriptors, *pass_fds),
                    has_monitor=True,
                    stdin=stdin,
                    stderr=stderr,
                )
                has_run = confined.has_ended() or end.reason != "exit"
        except BaseException:
            protection.restore()  # at once: after a cancellation nobody waits
            raise
        lines = await asyncio.to_thread(protection.restore)
        if has_run or not output.held:
            break
    else:
        error = output.held.decode("utf-8", "replace").strip()
        raise ToolError(
            f"The command was not run, because no sandbox could be made for it: {error}"
        )
    output.release()
    for line in lines:
        if on_note is not None:
            on_note(line)
            continue
        on_output(f"[{line}]\n".encode("utf-8", "surrogateescape"))
    return end


@contextmanager
def _covering(sandbox: Sandbox, guarded: GuardedFiles, confined: Confined) -> Iterator[None]:
    """Cover files again that the user replaces while a command runs."""
    if not sandbox.nsenter:
        yield
        return
    task = asyncio.create_task(keep_covered(guarded, sandbox.nsenter, confined.process))
    try:
        yield
    finally:
        task.cancel()


class _Output:
    """Passes the output of a command on. What may be an error of bubblewrap, or of the program before it, is `held`
    until it is known whose it is."""

    def __init__(self, on_output: Callable[[bytes], None]) -> None:
        self.held = b""
        self._on_output = on_output
        self._is_first = True

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        is_first = self._is_first
        self._is_first = False
        if self.held or (is_first and piece.startswith(OWN_ERRORS)):
            self.held += piece
        else:
            self._on_output(piece)

    def release(self) -> None:
        """Pass on what was held."""
        if self.held:
            self._on_output(self.held)


def _prepare(
    sandbox: Sandbox,
    guard: Guard,
    profile: Profile,
    env: Mapping[str, str],
    access: FurtherAccess,
    *,
    is_job: bool,
) -> tuple[GuardedFiles, list[str]]:
    guarded = find_guarded_files(guard, env, profile)
    if access.readable:
        guarded = replace(guarded, opened=(*guarded.opened, *access.readable))
    has_closed_repositories = is_job and not access.commits
    return guarded, sandbox.options(
        profile,
        guarded,
        has_closed_repositories=has_closed_repositories,
        network=access.network,
        writable=access.writable,
    )
