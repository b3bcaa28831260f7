"""`/copy`: copy an answer to the clipboard, by a program of the platform or through the terminal."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys

from swecli.models.counts import pluralize
from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

_COPIERS = (["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["clip.exe"])
_COPY_TIMEOUT = 5  # seconds
_MAX_OSC52 = 74_994  # bytes that terminals accept in one OSC 52 sequence (100,000 in base64)


@command(usage="[N]", concurrent="*")
async def _copy(ctx: CommandContext, args: str) -> None:
    """Copy the last answer (or the Nth last) to the clipboard"""
    answers = [
        message.content
        for message in ctx.runtime.session.messages
        if message.role == "assistant" and message.content.strip()
    ]
    number = args or "1"
    if not number.isdecimal() or not 1 <= int(number) <= len(answers):
        raise UsageError(
            f"There is no answer {number} to copy: {pluralize(len(answers), 'answer')} loaded.",
            "Use /copy or /copy 2",
        )
    text = answers[-int(number)]
    ctx.screen.note(f"copied {len(text):,} characters{_to_clipboard(ctx, text)}")


def _to_clipboard(ctx: CommandContext, text: str) -> str:
    """Copy the text, and return how, to append to "copied N characters". Raises UsageError if it cannot be copied."""
    data = text.encode("utf-8", "replace")
    # reads the environment: over SSH the user's clipboard is that of the terminal, not of this machine
    is_remote = "SSH_CONNECTION" in os.environ
    if not is_remote and any(_run_copier(program, data) for program in _COPIERS):
        return ""
    if not sys.stdout.isatty() or len(data) > _MAX_OSC52:
        programs = ", ".join(command[0] for command in _COPIERS)
        raise UsageError(
            f"No clipboard program was found ({programs}) and the terminal cannot take it.",
            "Install one, or use swecli sessions show",
        )
    ctx.screen.write(f"\x1b]52;c;{base64.b64encode(data).decode()}\a")
    return " through the terminal (OSC 52), if it allows that"


def _run_copier(program: list[str], data: bytes) -> bool:
    """Return whether the program is installed and took the data."""
    if not shutil.which(program[0]):
        return False
    try:
        subprocess.run(program, input=data, check=True, timeout=_COPY_TIMEOUT, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True
