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
    from typing import NoReturn, TextIO

    from swecli.models.errors import SwecliError


def main() -> NoReturn:
    """Run swecli with the arguments of the process and exit."""
    # imports create 190,000 objects and no garbage: collecting delays keys. `settle` takes it back.
    gc.set_threshold(250_000, 20, 50)
    _replace_closed_streams()
    # `-m` hides how the command was called, so the command tells; programs that swecli starts are called otherwise
    sys.argv[0] = os.environ.pop("SWECLI_STARTED_AS", sys.argv[0])
    argv = sys.argv[1:]
    try:
        if argv in (["--version"], ["-V"]):  # scripts call this often: nothing is imported
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
        interruption = SwecliError("Interrupted.")
        interruption.exit_code = 130
        return _fail(interruption, argv)
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
    if args.check_update:
        # late: only on request
        from swecli.cli.update import update_hint

        sys.stdout.write(f"{update_hint()}\n")
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
        # late: a session reads git later
        from swecli.tools.surroundings import Surroundings

        surroundings = Surroundings(start.cwd.resolve(), start.environ)
        surroundings.begin()
        # late: a session needs no writers; git is read meanwhile
        from swecli.cli.print_mode import run_print_mode

        return run_event_loop(run_print_mode(start, args, surroundings))
    # late: runs without a screen need no line editor
    from swecli.cli.startup import offer_model
    from swecli.repl.repl import REPL

    return run_event_loop(REPL(offer_model(start)).run())


def _fail(error: SwecliError, argv: list[str]) -> int:
    """Write an error to stderr, and to stdout in the requested output format. Return its exit code."""
    # late: only for errors
    from swecli.cli.flags import Parser
    from swecli.headless.writers.base import make_writer
    from swecli.models.errors import SwecliError

    try:
        make_writer(Parser.requested_format(argv), sys.stdout, sys.stderr).refuse(error)
    except SwecliError as write_error:
        for problem in (error, write_error):
            make_writer("text", sys.stdout, sys.stderr).refuse(problem)
    return error.exit_code


def _replace_closed_streams() -> None:
    """Open /dev/null for closed standard streams, so that no other file gets their descriptors. Writing to a closed
    stdout fails, as it does for other programs. On stdout, characters that cannot be encoded become `?`."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # Python opens a TextIOWrapper


def _exit(code: int) -> NoReturn:
    """Flush the streams and exit without tearing down modules, which takes a sixth of a run's time, and without waiting
    for a thread that does not end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:  # the reader is gone
            code = code or 141
            _discard(stream)
        except (OSError, ValueError) as error:
            if stream is sys.stdout and not code:
                reason = error.strerror if isinstance(error, OSError) else error
                sys.stderr.write(f"swecli: The output cannot be written: {reason}.\n")
            code = code or 1
            _discard(stream)
    if "litellm" in sys.modules or _is_thread_stuck():  # litellm's teardown takes over a second
        os._exit(code)
    if "sqlalchemy" in sys.modules:
        atexit.register(os._exit, code)
    sys.exit(code)


def _discard(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere: otherwise Python flushes it again and complains."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_thread_stuck() -> bool:
    if "swecli.cli.event_loop" not in sys.modules:
        return False
    # late: it is loaded already
    from swecli.cli.event_loop import is_thread_stuck

    return is_thread_stuck()
