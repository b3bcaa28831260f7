"""A process that has already imported swecli and forks for each run, which saves a second per run. Each run is a
process of its own. Tests call `run`, or `start_in_terminal` and `start_for_editor` for one that goes on; `_serve`
handles the requests in the spare process."""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import random
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

_STARTS_ALONE = (
    "PYTHON",
    "LC_",
    "LANG",
    "LITELLM",
    "TIKTOKEN",
)  # variables that are read when a process starts
# modules that most runs load, with what they import
_LOADED = (
    "swecli.actions.builtin.playbook",
    "swecli.actions.builtin.sessions",
    "swecli.app",
    "swecli.cli.actions",
    "swecli.cli.main",
    "swecli.cli.print_mode",
    "swecli.cli.startup",
    "swecli.headless.first_request",
    "swecli.headless.writers.json",
    "swecli.headless.writers.text",
    "swecli.llm.providers.anthropic",
    "swecli.llm.providers.gemini",
    "swecli.llm.providers.litellm",
    "swecli.llm.providers.openai_chat",
    "swecli.llm.providers.responses",
    "swecli.playbook.learning.service",
    "swecli.store.playbook.deltas",
    "swecli.store.sqlite.orm",
    "swecli.store.sqlite.schema",
)

_WITHOUT_TERMINAL, _IN_TERMINAL, _FOR_EDITOR = b"r", b"t", b"e"  # the kinds of runs
_PID_BYTES = 10  # with leading spaces
_ROOT = Path(__file__).parents[2]


def can_fork(environ: Mapping[str, str]) -> bool:
    """Return True if a run with these additional variables can be forked."""
    return not any(name.startswith(_STARTS_ALONE) for name in environ)


def run(
    arguments: Sequence[bytes], given: bytes, environ: Mapping[str, str], timeout: float
) -> tuple[int, bytes, bytes]:
    """Run swecli with these arguments and this stdin; return exit code, stdout and stderr. Raises TimeoutError."""
    pipes = [os.pipe() for _ in range(4)]  # stdin, stdout, stderr, status
    child_ends = [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]]
    _request(_WITHOUT_TERMINAL, [os.fsdecode(one) for one in arguments], environ, child_ends)
    received: dict[int, bytes] = {}

    def read(number: int) -> None:
        with os.fdopen(pipes[number][0], "rb") as pipe:
            received[number] = pipe.read()

    readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in (1, 2, 3)]
    for reader in readers:
        reader.start()
    with suppress(BrokenPipeError), os.fdopen(pipes[0][1], "wb") as stdin:
        stdin.write(given)
    for reader in readers:
        reader.join(timeout)
        if reader.is_alive():
            raise TimeoutError(f"swecli {arguments!r} did not end")
    _, status = received[3].split()
    return os.waitstatus_to_exitcode(int(status)), received[1], received[2]


@dataclass(frozen=True)
class StartedRun:
    """A run that goes on: its process, this end of its files, and a pipe that tells how it ended: a status as
    `os.waitpid` returns it, in decimal digits."""

    pid: int
    files: Sequence[int]
    status: int


def start_in_terminal(
    arguments: Sequence[str], environ: Mapping[str, str], rows: int, columns: int
) -> StartedRun:
    """Start swecli with these arguments in a pseudo-terminal of its own."""
    ours, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (rows, columns))
    return _start(_IN_TERMINAL, arguments, environ, [terminal] * 3, [ours])


def start_for_editor(arguments: Sequence[str], environ: Mapping[str, str]) -> StartedRun:
    """Start swecli with these arguments between two pipes, of which the ends of the editor are returned: that of its
    stdin and that of its stdout. Its stderr is that of this process."""
    stdin, our_stdin = os.pipe()
    our_stdout, stdout = os.pipe()
    files = [stdin, stdout, os.dup(2)]
    return _start(_FOR_EDITOR, arguments, environ, files, [our_stdin, our_stdout])


def _start(
    kind: bytes,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    files: list[int],
    ours: Sequence[int],
) -> StartedRun:
    status, child_status = os.pipe()
    _request(kind, arguments, environ, [*files, child_status])
    pid = int(os.read(status, _PID_BYTES))
    return StartedRun(pid, ours, status)


def _request(
    kind: bytes, arguments: Sequence[str], environ: Mapping[str, str], child_ends: list[int]
) -> None:
    """Ask the spare process for a run with these files, which are closed here: stdin, stdout, stderr, status."""
    order = {"argv": [*arguments], "cwd": str(Path.cwd()), "environ": dict(environ)}
    what = os.memfd_create("order")
    os.write(what, json.dumps(order).encode())
    socket.send_fds(_spare(), [kind], [*child_ends, what])
    for fd in {*child_ends, what}:
        os.close(fd)


@cache
def _spare() -> socket.socket:
    ours, child_ends = socket.socketpair()
    path = os.pathsep.join((str(_ROOT), str(_ROOT / "tests" / "plugins")))
    code = f"from tests.support.spare import _serve; _serve({child_ends.fileno()})"
    spare = subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        pass_fds=[child_ends.fileno()],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    child_ends.close()
    atexit.register(spare.wait)
    atexit.register(ours.close)
    return ours


def _serve(number: int) -> None:
    """Fork for each request until the other end is closed."""
    orders = socket.socket(fileno=number)
    preload = {
        _WITHOUT_TERMINAL: _preload,
        _IN_TERMINAL: _preload_session,
        _FOR_EDITOR: _preload_agent,
    }
    keepers = 0
    while True:
        kind, fds, _, _ = socket.recv_fds(orders, 1, 5)
        if not kind:
            break
        if kind in preload:
            preload.pop(kind)()
            gc.collect()
            gc.freeze()
        keepers += 1
        if os.fork() == 0:
            orders.close()
            _supervise(kind, fds)
        while keepers and os.waitpid(-1, os.WNOHANG)[0]:
            keepers -= 1
        for fd in fds:
            os.close(fd)
    for _ in range(keepers):
        os.wait()


def _preload() -> None:
    # late imports: the tests that request a run do not need them. These import nearly all that a run needs.
    import swecli.app
    import swecli.cli.actions
    import swecli.cli.print_mode
    import swecli.cli.startup
    import swecli.cli.subcommands
    import swecli.playbook.learning.service
    import swecli.store.context
    import swecli.store.sqlite.orm
    import swecli.undo.history  # noqa: F401
    import tests.support.scripted  # noqa: F401
    from swecli.context.tokens import TokenCounter
    from swecli.llm.http import load_httpx
    from swecli.llm.price_table import prepare_environment
    from swecli.tools.registry import ToolRegistry

    for module in _LOADED:
        import_module(module)
    load_httpx()
    prepare_environment(os.environ)
    TokenCounter().load()
    ToolRegistry.discover().load()


def _preload_session() -> None:
    # late: a run without a terminal needs no line editor
    import swecli.repl.chat.async_query_processor
    import swecli.repl.render.renderer
    import swecli.repl.repl  # noqa: F401
    from swecli.repl.commands.registry import CommandTable

    _preload()
    CommandTable.discover()


def _preload_agent() -> None:
    # late: only an editor needs the library of its protocol
    import swecli.acp.server
    import swecli.cli.acp  # noqa: F401

    _preload()


def _supervise(kind: bytes, fds: list[int]) -> None:
    """In the supervising fork: start the run, write its process, wait for it and write how it ended."""
    pid = os.fork()
    if pid == 0:
        if kind == _IN_TERMINAL:
            os.setsid()
            fcntl.ioctl(fds[0], termios.TIOCSCTTY)
        _run_main(fds)
    for fd in fds[:3]:
        os.close(fd)
    os.write(fds[3], f"{pid:{_PID_BYTES}}".encode())
    _, status = os.waitpid(pid, 0)
    os.write(fds[3], f" {status}".encode())
    os._exit(0)


def _run_main(fds: list[int]) -> None:
    """In the run: set up the state of a new process and call `main`, which exits."""
    order = json.loads(os.pread(fds[4], 10_000_000, 0))
    for number in range(3):
        os.dup2(fds[number], number)
    for fd in fds:
        os.close(fd)
    random.seed()
    os.environ.clear()
    os.environ.update(order["environ"])
    os.chdir(order["cwd"])
    sys.argv = [
        str(_ROOT / "swecli" / "__main__.py"),
        *order["argv"],
    ]  # as `python -m swecli` has it
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    from swecli.cli.main import main

    main()
