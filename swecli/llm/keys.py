"""Keys that a command prints: run when a request needs one, kept in memory only."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from swecli.llm.endpoints import Endpoint
from swecli.models.errors import AuthFailed

_SECONDS = 10.0


async def with_key(at: Endpoint) -> Endpoint:
    """The same endpoint with the key that its command prints, where it has one and no key yet.

    Raises AuthFailed where the command gives none; what it printed is never in the message.
    """
    if at.key is not None or not at.key_command:
        return at
    key = (await _printed(at.key_command)).strip()
    if not key or not (key.isascii() and key.isprintable()):
        what = "printed nothing" if not key else "printed more than one line, or a letter that no key has"
        raise _failed(at.key_command, what)
    return replace(at, key=key)


async def _printed(command: Sequence[str]) -> str:
    """What it prints. It and all it started are ended after 10 s, or when nobody waits any more."""
    try:
        running = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise _failed(command, f"cannot be started: {error.strerror}") from None
    try:
        async with asyncio.timeout(_SECONDS):
            printed, _ = await running.communicate()
    except TimeoutError:
        raise _failed(command, f"printed no key within {_SECONDS:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    if running.returncode:
        raise _failed(command, f"failed with exit code {running.returncode}")
    return printed.decode("utf-8", "replace")


def _failed(command: Sequence[str], what: str) -> AuthFailed:
    return AuthFailed(f"The key_command {command[0]} {what}.", "Run it in a shell: it has to print the key alone.")
