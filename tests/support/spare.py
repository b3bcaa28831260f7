"""A process that has already imported swecli and forks for each run, which saves a second per run. Each run is a
process of its own. Tests call `run`; `_serve` handles the requests in the spare process."""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

_STARTS_ALONE = (
    "PYTHON",
    "LC_",
    "LANG",
    "LITELLM",
    "TIKTOKEN",
)  # variables that are read when a process starts


def can_fork(environ: Mapping[str, str]) -> bool:
    """Return True if a run with these additional variables can be forked."""
    return not any(name.startswith(_STARTS_ALONE) for name in environ)


def run(
    arguments: Sequence[bytes], given: bytes, environ: Mapping[str, str], timeout: float
) -> tuple[int, bytes, bytes]:
    """Run swecli with these arguments and this stdin; return exit code, stdout and stderr. Raises TimeoutError."""
    order = {
        "argv": [os.fsdecode(one) for one in arguments],
        "cwd": str(Path.cwd()),
        "environ": dict(environ),
    }
    what = os.memfd_create("order")
    os.write(what, json.dumps(order).encode())
    pipes = [os.pipe() for _ in range(4)]  # stdin, stdout, stderr, exit code
    child_ends = [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]]
    socket.send_fds(_spare(), [b"."], [*child_ends, what])
    for fd in (*child_ends, what):
        os.close(fd)
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
    return int(received[3]), received[1], received[2]


@cache
def _spare() -> socket.socket:
    ours, child_ends = socket.socketpair()
    root = Path(__file__).parents[2]
    path = os.pathsep.join((str(root), str(root / "tests" / "plugins")))
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
    _preload()
    gc.collect()
    gc.freeze()
    keepers = 0
    while True:
        word, fds, _, _ = socket.recv_fds(orders, 1, 5)
        if not word:
            break
        keepers += 1
        if os.fork() == 0:
            orders.close()
            _supervise(fds)
        while keepers and os.waitpid(-1, os.WNOHANG)[0]:
            keepers -= 1
        for fd in fds:
            os.close(fd)
    for _ in range(keepers):
        os.wait()


def _preload() -> None:
    # late imports: the tests that request a run do not need them
    import tests.support.scripted  # noqa: F401
    from swecli.context.tokens import TokenCounter
    from swecli.llm.http import load_httpx
    from swecli.llm.price_table import prepare_environment

    load_httpx()
    prepare_environment(os.environ)
    TokenCounter().load()


def _supervise(fds: list[int]) -> None:
    """In the supervising fork: start the run, wait for it and write its exit code."""
    pid = os.fork()
    if pid == 0:
        _run_main(fds)
    for fd in fds[:3]:
        os.close(fd)
    _, status = os.waitpid(pid, 0)
    os.write(fds[3], str(os.waitstatus_to_exitcode(status)).encode())
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
    sys.argv = ["swecli", *order["argv"]]
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    from swecli.cli.main import main

    main()
