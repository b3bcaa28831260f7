"""The two faces as the command line starts them: the screen, and runs without one."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from swecli.config.start import Start
from swecli.models.errors import BadInput, UsageError


def need_terminal() -> None:
    """Raises UsageError where there is no screen to draw on, or no keyboard."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("This is not a terminal.", 'Use -p for one prompt without a screen: swecli -p "list files".')


def run_screen(start: Start) -> int:
    """The REPL."""
    # late: headless runs and subcommands do not pay for the line editor
    from swecli.repl.repl import REPL  # noqa: PLC0415

    return asyncio.run(REPL(start).run())


def run_headless(start: Start, args: argparse.Namespace) -> int:
    """A turn, or one for each piped line, written to stdout. Raises SwecliError for what keeps it from beginning."""
    # late: the screen does not pay for it, and these import the store and the tools
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.slash import refuse_command  # noqa: PLC0415
    from swecli.headless.formats import Writer  # noqa: PLC0415
    from swecli.headless.prompts import Prompt, from_lines, just, read_piped  # noqa: PLC0415
    from swecli.headless.runner import refuse, run_prompts  # noqa: PLC0415

    writer = Writer(args.output_format or "text", sys.stdout, sys.stderr)
    piped, terminal = "", os.isatty(0)
    if args.input_format == "stream-json":
        if terminal:
            raise UsageError("--input-format stream-json reads from a pipe.", "Pipe one JSON object a line in.")
    else:
        piped = "" if terminal else read_piped(0, writer.say)
        if not (start.prompt.strip() or piped):
            raise BadInput("There is no prompt.", 'Give one: swecli -p "list files", or pipe it in.')
    refuse_command(start.prompt if start.prompt.strip() else piped)
    runtime = build_runtime(start, refuse)
    try:
        for line in (*start.notices, *runtime.notices):
            writer.say(f"swecli: {line}")
        if runtime.agent.model.offline and not start.settings.model:
            writer.say(f"swecli: The {start.choice.name} model answers: {start.choice.why}.")
        prompt = Prompt(start.prompt, piped) if start.prompt.strip() else Prompt(piped)
        prompts = (
            from_lines(0, start.prompt, check=refuse_command) if args.input_format == "stream-json" else just(prompt)
        )
        return asyncio.run(run_prompts(runtime, prompts, writer))
    finally:
        runtime.close()
