"""Slash commands where there is no screen: they are never sent to a model, and the shell has most of them."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.input.lines import read_line

IN_A_SHELL = {
    "playbook": "swecli playbook",
    "strategies": "swecli playbook",
    "good": "swecli playbook good",
    "bad": "swecli playbook bad",
    "reflect": "swecli playbook reflect",
    "review": "swecli review",
    "findings": "swecli findings",
    "context": "swecli context",
    "search": "swecli sessions search",
    "sessions": "swecli sessions list",
    "rename": "swecli sessions rename",
    "help": "swecli --help",
    "model": "swecli -p PROMPT -m",
    "mode": "swecli -p PROMPT --mode",
    "window": "swecli -p PROMPT --window",
}
SHOWN = 80  # characters of its arguments


def refuse_command(text: str) -> None:
    """Raises UsageError for a prompt that is a slash command; the hint is what to type instead."""
    line = read_line(text)
    if line.kind != "command":
        return
    instead = IN_A_SHELL.get(line.name.lower())
    arguments = " ".join(line.text.split())[:SHOWN]
    hint = f"In a shell: {instead} {arguments}".rstrip() if instead else "It needs a session on a screen: swecli"
    raise UsageError(f"/{line.name} is a command and no prompt; nothing was sent to a model.", hint)
