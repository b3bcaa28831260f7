"""`/copy`: an answer into the clipboard."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

_PROGRAMS = (["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["clip.exe"])
_SECONDS = 5
_MOST = 74_994  # bytes: what terminals take in one OSC 52 sequence (100,000 with base64 and frame)


@command(usage="[N]", beside="*")
async def copy(ctx: CommandContext, args: str) -> None:
    """Copy the last answer (or the Nth last) to the clipboard"""
    session = ctx.runtime.sessions.current_session
    loaded = session.messages if session else []
    answers = [message.content for message in loaded if message.role == "assistant" and message.content.strip()]
    if not (args or "1").isdecimal() or not 1 <= int(args or "1") <= len(answers):
        raise UsageError(f"There is no answer {args or 1} to copy ({len(answers)} are loaded).", "Use /copy or /copy 2")
    text = answers[-int(args or "1")]
    ctx.screen.note(f"copied {len(text):,} characters{_to_clipboard(ctx, text)}")


def _to_clipboard(ctx: CommandContext, text: str) -> str:
    """How it got there, as words behind "copied". Raises UsageError where there is no way."""
    data = text.encode("utf-8", "replace")
    # reads the environment: over SSH the clipboard is that of the user's terminal, not of this machine
    for program in () if "SSH_CONNECTION" in os.environ else _PROGRAMS:
        if shutil.which(program[0]):
            try:
                subprocess.run(program, input=data, check=True, timeout=_SECONDS, capture_output=True)
            except (OSError, subprocess.SubprocessError):
                continue
            return ""
    if not sys.stdout.isatty() or len(data) > _MOST:
        raise UsageError(
            f"No clipboard program was found ({', '.join(p[0] for p in _PROGRAMS)}) and the terminal cannot take it.",
            "Install one, or use swecli sessions show",
        )
    ctx.screen.write(f"\x1b]52;c;{base64.b64encode(data).decode()}\a")
    return " through the terminal (OSC 52), if it allows that"
