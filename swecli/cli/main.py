"""The command line: start a terminal session, a run without a screen or a subcommand, and exit. Imports are late, so
that `--version` and `--help` load nothing they do not need."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from swecli import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself would double what --version loads
    import argparse
    from typing import NoReturn

    from swecli.config.settings import Start
    from swecli.headless.runner import Prompt
    from swecli.models.errors import SwecliError

_MAX_SHOWN = 80  # characters of arguments in a hint


def main() -> NoReturn:
    """Run swecli with the arguments of the process and exit."""
    # imports create 190,000 objects and no garbage: collecting delays keys. `settle` takes it back.
    gc.set_threshold(250_000, 20, 50)
    _replace_closed_streams()
    try:
        if (argv := sys.argv[1:]) in (
            ["--version"],
            ["-V"],
        ):  # scripts call this often: nothing is imported
            sys.stdout.write(f"swecli {__version__}\n")
            code = 0
        else:
            code = run_safely(argv)
    except SystemExit as stop:  # --help
        code = stop.code if isinstance(stop.code, int) else 0
    except OSError:  # the error message could not be written
        code = 1
    _exit(code)


def run_safely(argv: list[str]) -> int:
    """Run swecli and return the exit code. Errors are reported in one line; unexpected ones are also logged."""
    # late: --version needs no errors
    from swecli.models.errors import SwecliError

    try:
        return _run(argv)
    except SwecliError as error:
        return _fail(error, argv)
    except KeyboardInterrupt:
        stopped = SwecliError("Interrupted.")
        stopped.exit_code = 130
        return _fail(stopped, argv)
    except BrokenPipeError:  # the reader is gone, as with SIGPIPE
        return 141
    except Exception as error:  # noqa: BLE001 - the user never sees a traceback
        # late: only for unexpected errors
        from swecli.cli.logs import internal_error

        return _fail(internal_error(error), argv)


def _run(argv: list[str]) -> int:
    # late: --version needs no argparse
    from swecli.cli.flags import SUBCOMMANDS, parse_run
    from swecli.models.errors import UsageError

    if argv and argv[0] in SUBCOMMANDS:
        # late: a session needs no subcommands
        from swecli.cli.subcommands import run_subcommand

        return run_subcommand(argv[0], argv[1:])
    args = parse_run(argv)
    if args.version:
        sys.stdout.write(f"swecli {__version__}\n")
        return 0
    if not args.headless and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "This is not a terminal.",
            'Use -p for one prompt without a screen: swecli -p "list files".',
        )
    # late: --help and a wrong flag need no settings
    from swecli.cli.startup import make_start

    start = make_start(args)
    # late: subcommands and errors need no event loop
    from swecli.cli.event_loop import run_event_loop

    if args.headless:
        prompt, is_stream = _read_prompt(start, args), args.input_format == "stream-json"
        return run_event_loop(
            _run_headless(start, prompt, args.output_format or "text", is_stream=is_stream)
        )
    # late: runs without a screen need no line editor
    from swecli.repl.repl import REPL

    return run_event_loop(REPL(start).run())


def _fail(error: SwecliError, argv: list[str]) -> int:
    """Write an error to stderr, and to stdout in the requested output format. Return its exit code."""
    # late: only for errors
    from swecli.cli.flags import Parser
    from swecli.headless.writers.base import make_writer
    from swecli.models.errors import SwecliError

    try:
        make_writer(Parser.requested_format(argv), sys.stdout, sys.stderr).refuse(error)
    except SwecliError as write_error:
        for one in (error, write_error):
            make_writer("text", sys.stdout, sys.stderr).refuse(one)
    return error.exit_code


def _read_prompt(start: Start, args: argparse.Namespace) -> Prompt:
    """Combine the prompt argument and piped text; stream-json is read later. Raises UsageError, BadInput."""
    # late: only -p reads a prompt
    from swecli.headless.runner import Prompt, read_piped
    from swecli.models.errors import BadInput, UsageError

    is_stream = args.input_format == "stream-json"
    piped, is_terminal = "", os.isatty(0)
    if is_stream and is_terminal:
        raise UsageError(
            "--input-format stream-json reads from a pipe.", "Pipe one JSON object a line in."
        )
    if not is_stream:
        piped = "" if is_terminal else read_piped(0, lambda line: print(line, file=sys.stderr))
        if not (start.prompt.strip() or piped):
            raise BadInput(
                "There is no prompt.", 'Give one: swecli -p "list files", or pipe it in.'
            )
    prompt = Prompt(start.prompt, piped) if start.prompt.strip() else Prompt(piped)
    _refuse_command(prompt.text)
    return prompt


async def _run_headless(
    start: Start, prompt: Prompt, output_format: str, *, is_stream: bool
) -> int:
    """Run one turn, or one for each line of stdin, and write it to stdout. Raises SwecliError."""
    # late: --help needs none of these
    from contextlib import AsyncExitStack

    # late: as above
    from swecli.context.tokens import TokenCounter
    from swecli.headless.first_request import first_request
    from swecli.headless.runner import refuse_unpriced
    from swecli.llm.registry import make_model

    model = make_model(start.choice.name, start.settings, start.environ)
    refuse_unpriced(model, start.settings)
    counter = TokenCounter(model.profile.encoding, exact=False)
    async with AsyncExitStack() as stack:
        ahead = (
            None
            if is_stream
            else await stack.enter_async_context(first_request(start, prompt, model, counter))
        )
        # late: the first request is already on its way while the store and the tools are imported
        from swecli.app import build_runtime
        from swecli.headless.runner import read_prompts, refuse, run_prompts
        from swecli.headless.writers.base import RunFacts, make_writer

        runtime = build_runtime(start, refuse, model, begun=ahead and ahead[1:])
    runtime.settle()
    runtime.agent.counter = counter
    tools = tuple(spec.name for spec in runtime.agent.specs())
    facts = RunFacts(str(start.cwd), runtime.agent.permissions.mode, tools)
    writer = make_writer(output_format, sys.stdout, sys.stderr, facts)
    try:
        for line in runtime.opening_lines():
            writer.note(f"swecli: {line}")
        prompts = read_prompts(prompt, 0 if is_stream else None, check=_refuse_command)
        return await run_prompts(runtime, prompts, writer, ahead and ahead[0])
    finally:
        runtime.close()


def _refuse_command(text: str) -> None:
    """Raise UsageError if a prompt is a slash command; its hint is the shell command to use instead."""
    if not text.lstrip().startswith("/"):
        return
    # late: few prompts begin with a slash
    from swecli.cli.flags import SUBCOMMANDS
    from swecli.models.errors import UsageError
    from swecli.repl.program import parse_line

    line = parse_line(text)
    if line.kind != "command":
        return
    hint = "It works in a terminal session; see also `swecli --help`."
    if (name := line.name.lower()) in SUBCOMMANDS:
        hint = f"In a shell: swecli {' '.join([name, *line.text.split()])[:_MAX_SHOWN]}"
    raise UsageError(f"/{line.name} is a command, not a prompt; nothing was sent to a model.", hint)


def _replace_closed_streams() -> None:
    """Open /dev/null for closed standard streams, so that no other file gets their descriptors. On stdout, characters
    that cannot be encoded become `?`."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # Python opens a TextIOWrapper


def _exit(code: int) -> NoReturn:
    """Flush the streams and exit without tearing down modules, which takes a sixth of a run's time, and without waiting
    for a thread that does not end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            if stream is sys.stdout and not code and not isinstance(error, BrokenPipeError):
                sys.stderr.write(f"swecli: The output cannot be written: {error}.\n")
            code = code or (141 if isinstance(error, BrokenPipeError) else 1)
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), stream.fileno()
            )  # otherwise Python flushes again and complains
    if "litellm" in sys.modules or _is_thread_stuck():  # litellm's teardown takes over a second
        os._exit(code)
    if "sqlalchemy" in sys.modules:
        atexit.register(os._exit, code)
    sys.exit(code)


def _is_thread_stuck() -> bool:
    if "swecli.cli.event_loop" not in sys.modules:
        return False
    # late: it is loaded already
    from swecli.cli.event_loop import is_thread_stuck

    return is_thread_stuck()
