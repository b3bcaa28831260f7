"""API keys that a command prints."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress

from swecli.descendants import leftovers
from swecli.models.errors import AuthFailed

_KEY_SECONDS = 10.0


async def run_key_command(command: Sequence[str]) -> str:
    """Run a command and return the key it prints. Its process group is killed after 10 s or on cancellation. Raises
    AuthFailed, which never contains its output."""

    def failed(problem: str) -> AuthFailed:
        return AuthFailed(
            f"The key_command {command[0]} {problem}.",
            "Run it in a shell: it has to print the key alone.",
        )

    with leftovers() as marker:
        try:
            # reads the environment: the default, as for any child process
            env = marker.mark(os.environ)
            running = await asyncio.create_subprocess_exec(
                *command,
                env=env,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise failed(f"cannot be started: {error.strerror}") from None
        try:
            async with asyncio.timeout(_KEY_SECONDS):
                printed, _ = await running.communicate()
        except TimeoutError:
            raise failed(f"printed no key within {_KEY_SECONDS:g} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    key = printed.decode("utf-8", "replace").strip()
    if running.returncode:
        raise failed(f"failed with exit code {running.returncode}")
    if not key:
        raise failed("printed nothing")
    if not (key.isascii() and key.isprintable()):
        raise failed("printed more than one line, or a character that no key has")
    return key
