"""The user's own shell, in which their command lines run as at its prompt: with its aliases and functions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path

from swecli.tools.own_programs import is_out_of_reach
from swecli.tools.processes import ProcessExit, run_group
from swecli.values import dataclass

# Seconds. A person waits for as long at a first prompt before something seems to be wrong; the command itself has more.
_LIMIT = 5.0
_LOOK = 0.02  # seconds between two looks whether the configuration is read
# The descriptor on which a shell is told to go on. Without that it ends: bash ignores to be terminated while it reads
# its configuration, and would run the command after all.
_GO = 7
_READY = 8  # the descriptor on which a shell says that it has read its configuration
_OUTPUT = 9  # the descriptor of the command's output: what the configuration prints is discarded


class ShellKind(Enum):
    """The shells that are known, by the names of their programs."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    DASH = "dash"
    KSH = "ksh"
    MKSH = "mksh"
    SH = "sh"


# What an interactive shell runs behind its configuration. The command line is read after it, so that the aliases count
# in it, and errors in it are shown; the terminal becomes /dev/tty of its programs.
_STARTS = {
    ShellKind.BASH: (
        "printf . >&8; read -r _ <&7 || exit; exec <{terminal} >&9 2>&1 7<&- 8>&- 9>&-\n{command}"
    ),
    ShellKind.ZSH: (
        'printf . >&8; read -r _ <&7 || exit; exec <{terminal} >&9 2>&1 7<&- 8>&- 9>&-; eval "$1"'
    ),
    ShellKind.FISH: (
        # its own `read` takes no other descriptor, and only its own standard error would say that a line has an error
        "printf . >&8; sh -c 'read -r _' <&7; or exit; "
        "printf '%s\\n' $argv[2] | $argv[1] --no-execute 2>&9; or exit; "
        "eval $argv[2] >&9 2>&9 7<&- 8>&- 9>&-"
    ),
}


@dataclass(slots=True)
class UserShell:
    """A shell, and whether it reads its configuration, which takes as long as a new terminal does. `problem` is what
    the user has not been told yet, "" for nothing."""

    program: str
    kind: ShellKind
    is_interactive: bool = field(default=False)
    problem: str = ""

    @classmethod
    def find(cls, environ: Mapping[str, str], root: Path, fixed: str) -> UserShell:
        """Return the shell that $SHELL names, else the `fixed` one, which runs the commands of the model."""
        chosen = environ.get("SHELL", "")
        refusal = _refuse(chosen, root) if chosen else ""
        if chosen and not refusal:
            kind = ShellKind(Path(chosen).name)
            return cls(chosen, kind, is_interactive=kind in _STARTS)
        problem = f"$SHELL is {chosen}, {refusal}: {fixed} runs your lines" if refusal else ""
        return cls(fixed, ShellKind(Path(fixed).name), problem=problem)

    def pop_problem(self) -> str:
        """Return the problem, once; "" if there is none."""
        problem = self.problem
        self.problem = ""
        return problem

    async def run(
        self,
        command: str,
        *,
        terminal: str,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float | None,
        on_output: Callable[[bytes], None],
        pass_fds: Collection[int],
        stdin: int,
    ) -> ProcessExit:
        """Run a command line like `run_group`; `terminal` is the path of its standard input. If the configuration does
        not come to its end, the command has not begun: it runs without it, as all that follow. Raises OSError."""

        async def start(argv: list[str], *descriptors: int) -> ProcessExit:
            return await run_group(
                argv,
                cwd=cwd,
                env=env,
                timeout=timeout,
                on_output=on_output,
                pass_fds=(*pass_fds, *descriptors),
                stdin=stdin,
            )

        if self.is_interactive:
            end = await self._run_interactive(command, terminal, start)
            if end is not None:
                return end
            self.is_interactive = False
        attach = "" if self.kind is ShellKind.FISH else f"exec <{terminal}; "
        return await start([self.program, "-c", attach + command])

    async def _run_interactive(
        self, command: str, terminal: str, start: Callable[..., Awaitable[ProcessExit]]
    ) -> ProcessExit | None:
        """Run a command behind the configuration. None: it has not begun, and will not."""
        going, go = os.pipe()
        ready, is_read = os.pipe()
        os.set_blocking(ready, False)
        argv = self._interactive(command, terminal, going, is_read)
        running = asyncio.ensure_future(start(argv, going, is_read))
        try:
            try:
                is_ready = await self._is_ready(running, ready)
                if is_ready:
                    os.write(go, b"\n")
            finally:
                os.close(go)  # before the shell is ended, which may go on then
            return await running if is_ready else None
        finally:
            running.cancel()
            await asyncio.wait({running})
            for descriptor in (going, ready, is_read):
                os.close(descriptor)

    def _interactive(self, command: str, terminal: str, going: int, is_read: int) -> list[str]:
        script = _STARTS[self.kind].format(terminal=terminal, command=command)
        inherited = f"{_GO}</dev/fd/{going} {_READY}>/dev/fd/{is_read} {_OUTPUT}>&1"
        moved = f'exec "$@" {inherited} >/dev/null 2>&1'
        shell = [self.program, "-i", "-c", script, self.program, command]
        return ["/bin/sh", "-c", moved, "sh", *shell]

    async def _is_ready(self, running: asyncio.Future[ProcessExit], reading: int) -> bool:
        """Wait until the configuration is read. Returns False, with the problem, if it ends the shell or goes on."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _LIMIT
        while True:
            has_ended = running.done()
            if _can_read(reading):
                return True
            if has_ended or loop.time() > deadline:
                break
            await asyncio.wait({running}, timeout=_LOOK)
        did = "ends it" if has_ended else f"takes more than {_LIMIT:.0f} s"
        name = self.kind.value
        self.problem = f"The configuration of {name} {did}: {name} runs your lines without it, so without aliases"
        return False


def _refuse(chosen: str, root: Path) -> str:
    """Return why a program is not used as the user's shell, "" if it is."""
    path = Path(chosen)
    if not path.is_absolute():
        return "which is no absolute path"
    if path.name not in {kind.value for kind in ShellKind}:
        return "which is no shell that is known here"
    if not is_out_of_reach(path, root):
        return "which lies in this folder, where commands can replace it"
    if not path.is_file() or not os.access(path, os.X_OK):
        return "which cannot be run"
    return ""


def _can_read(pipe: int) -> bool:
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:
        return False
