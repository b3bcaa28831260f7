"""`/memory` and `/init`: the instruction files that every request carries."""

from __future__ import annotations

from pathlib import Path

from swecli.config.instruction_files import InstructionFiles
from swecli.context.instructions import load_instructions
from swecli.context.project import find_skills
from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.text import short_path

_INIT_PROMPT = (
    "Look around in this repository (its README, manifests, scripts, CI and tests) and {make} at most 20 lines: the "
    "commands to build, run, lint and test (also one single test), and conventions that the code does not show by "
    "itself. Nothing that its README or file names already say, only what you have seen, no general advice.{focus}"
)


@command(concurrent="*")
async def _memory(ctx: CommandContext, args: str) -> None:
    """Show the instruction files (AGENTS.md) that every request carries, and the skills"""
    if args:
        raise UsageError(
            "/memory only shows: it takes no arguments.",
            f"Say `remember that {args}`, or edit AGENTS.md.",
        )
    runtime = ctx.runtime
    trust = runtime.start.read_trust()
    home = Path(runtime.start.environ.get("HOME") or "/")
    instructions = load_instructions(runtime.cwd, trust, home=home)
    skills = find_skills(runtime.start, trust)
    rows = [
        (short_path(path), f"{path.stat().st_size:,} bytes")
        for path in (*instructions.files, *(skill.file for skill in skills.skills.values()))
    ]
    if rows:
        ctx.screen.table(("file", "size"), rows)
    if not instructions.files and not instructions.notices:
        ctx.screen.note(
            "no AGENTS.md in this folder or above it · /init asks the assistant for one"
        )
    for notice in (*instructions.notices, *skills.notices):
        ctx.screen.warn(notice)


@command(usage="[FOCUS]")
async def _init(ctx: CommandContext, args: str) -> None:
    """Have the assistant write an AGENTS.md for this repository"""
    root = ctx.runtime.cwd
    choices = InstructionFiles.of(root).choices
    present = next((path.name for path in choices if path.is_file()), "")
    make = "write an AGENTS.md in its root,"
    if present:
        make = f"update {present} in its root, keeping what is still true,"
    ctx.program.steer(_INIT_PROMPT.format(make=make, focus=f" {args}" if args else ""))
