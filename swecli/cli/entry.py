"""From arguments to a run on a screen, without one, or of a subcommand; every failure is one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AsyncExitStack

from swecli import __version__
from swecli.cli.flags import SUBCOMMANDS, asked_format, parse_run
from swecli.models.errors import BadInput, SwecliError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:  # a subcommand and --help need none of it
    from swecli.config.settings import Start
    from swecli.headless.prompts import Prompt

_SHOWN = 80  # characters of its arguments


def run_safely(argv: list[str]) -> int:
    """Run and return the exit code. Nothing escapes as a traceback; what was unforeseen is in the log."""
    try:
        return _run(argv)
    except SwecliError as error:
        return fail(error, argv)
    except KeyboardInterrupt:
        stopped = SwecliError("Interrupted.")
        stopped.exit_code = 130
        return fail(stopped, argv)
    except BrokenPipeError:  # the reader has gone, as for any program that SIGPIPE ends: nobody to report to
        return 141
    except Exception as error:  # noqa: BLE001 - the last door: a user never sees a traceback
        # late: only where all else failed
        from swecli.cli.startup import internal_error  # noqa: PLC0415

        return fail(internal_error(error), argv)


def _run(argv: list[str]) -> int:
    if argv and argv[0] in SUBCOMMANDS:
        # late: a chat needs none of them
        from swecli.cli.subcommands import run_subcommand  # noqa: PLC0415

        return run_subcommand(argv[0], argv[1:])
    args = parse_run(argv)
    if args.version:
        sys.stdout.write(f"swecli {__version__}\n")
        return 0
    if not args.headless and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("This is not a terminal.", 'Use -p for one prompt without a screen: swecli -p "list files".')
    # late: --help and a wrong flag need no settings
    from swecli.cli.startup import make_start  # noqa: PLC0415

    start = make_start(args)
    if args.headless:
        return _run_headless(start, args)
    # late: headless runs and subcommands do not pay for the line editor
    import asyncio  # noqa: PLC0415

    from swecli.repl.repl import REPL  # noqa: PLC0415

    return asyncio.run(REPL(start).run())


def fail(error: SwecliError, argv: list[str]) -> int:
    """Report what is wrong and what to do, to people and, where wanted, to programs; returns the exit code."""
    # late: a run that does not fail needs none
    from swecli.headless.formats import make_writer  # noqa: PLC0415

    try:
        make_writer(asked_format(argv), sys.stdout, sys.stderr).refuse(error)
    except SwecliError as unwritten:
        for one in (error, unwritten):
            make_writer("text", sys.stdout, sys.stderr).refuse(one)
    return error.exit_code


def _run_headless(start: Start, args: argparse.Namespace) -> int:
    """A turn, or one for each piped line, written to stdout. Raises SwecliError for what keeps it from beginning."""
    import asyncio  # noqa: PLC0415  # late: the screen does not pay for any of these

    # late: as above
    from swecli.headless.prompts import Prompt, read_piped  # noqa: PLC0415

    streamed = args.input_format == "stream-json"
    piped, terminal = "", os.isatty(0)
    if streamed and terminal:
        raise UsageError("--input-format stream-json reads from a pipe.", "Pipe one JSON object a line in.")
    if not streamed:
        piped = "" if terminal else read_piped(0, lambda line: print(line, file=sys.stderr))
        if not (start.prompt.strip() or piped):
            raise BadInput("There is no prompt.", 'Give one: swecli -p "list files", or pipe it in.')
    prompt = Prompt(start.prompt, piped) if start.prompt.strip() else Prompt(piped)
    _refuse_command(prompt.text)
    return asyncio.run(_send_and_run(start, prompt, args.output_format or "text", streamed=streamed))


async def _send_and_run(start: Start, prompt: Prompt, output_format: str, *, streamed: bool) -> int:
    # late: as above
    from swecli.headless.first_request import first_request  # noqa: PLC0415
    from swecli.headless.prompts import from_lines, just  # noqa: PLC0415
    from swecli.llm.registry import make_model  # noqa: PLC0415

    model = make_model(start.choice.name, start.settings, start.environ)
    async with AsyncExitStack() as stack:
        sent = None if streamed else await stack.enter_async_context(first_request(start, prompt, model))
        turn, begun = sent or (None, None)
        # late: these import the store and the tools, and the request is out now
        from swecli.app import build_runtime  # noqa: PLC0415
        from swecli.headless.formats import make_writer  # noqa: PLC0415
        from swecli.headless.runner import refuse, run_prompts  # noqa: PLC0415

        runtime = build_runtime(start, refuse, model, begun=begun)
    writer = make_writer(output_format, sys.stdout, sys.stderr)
    try:
        for line in runtime.opening_lines():
            writer.note(f"swecli: {line}")
        prompts = from_lines(0, start.prompt, check=_refuse_command) if streamed else just(prompt)
        return await run_prompts(runtime, prompts, writer, turn)
    finally:
        runtime.close()


def _refuse_command(text: str) -> None:
    """Raises UsageError for a prompt that is a slash command; the hint is what to type instead."""
    if not text.lstrip().startswith("/"):
        return
    # late: few prompts look like one
    from swecli.repl.input.lines import parse_line  # noqa: PLC0415

    line = parse_line(text)
    if line.kind != "command":
        return
    arguments = " ".join([line.name.lower(), *line.text.split()])[:_SHOWN]
    known = line.name.lower() in SUBCOMMANDS
    hint = f"In a shell: swecli {arguments}" if known else "It works in a terminal session; see also `swecli --help`."
    raise UsageError(f"/{line.name} is a command, not a prompt; nothing was sent to a model.", hint)
