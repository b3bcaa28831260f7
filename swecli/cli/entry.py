"""From arguments to a face, and every failure to one line and an exit code."""

from __future__ import annotations

import sys

from swecli import __version__
from swecli.cli.flags import SUBCOMMANDS, parse_run, wants_json
from swecli.models.errors import SwecliError


class Interrupted(SwecliError):
    """Ctrl-C before anything could take it."""

    exit_code = 130


def run_safely(argv: list[str]) -> int:
    """Run and return the exit code. Nothing escapes as a traceback; what was unforeseen is in the log."""
    try:
        return run(argv)
    except SwecliError as error:
        return fail(error, argv)
    except KeyboardInterrupt:
        return fail(Interrupted("Interrupted."), argv)
    except BrokenPipeError:  # the reader has gone: nobody to tell
        return 1
    except Exception as error:  # noqa: BLE001 - the last door: a user never sees a traceback
        # late: only where all else failed
        from swecli.cli.startup import unforeseen  # noqa: PLC0415

        return fail(unforeseen(error), argv)


def run(argv: list[str]) -> int:
    """Run what the arguments ask for. Raises SwecliError."""
    if argv and argv[0] in SUBCOMMANDS:
        # late: a chat needs none of them
        from swecli.cli.subcommands import run_subcommand  # noqa: PLC0415

        return run_subcommand(argv[0], argv[1:])
    args = parse_run(argv)
    if args.version:
        sys.stdout.write(f"swecli {__version__}\n")
        return 0
    # late: --help and a wrong flag need no settings
    from swecli.cli.faces import need_terminal, run_headless, run_screen  # noqa: PLC0415
    from swecli.cli.startup import make_start  # noqa: PLC0415

    if not args.headless:
        need_terminal()
    start = make_start(args)
    return run_headless(start, args) if args.headless else run_screen(start)


def fail(error: SwecliError, argv: list[str]) -> int:
    """Say what is wrong and what to do, to people and, where it was asked for, to programs; returns the exit code."""
    # late: a run that does not fail does not need it
    from swecli.headless.plain import complaint, dumps  # noqa: PLC0415

    sys.stderr.write(complaint(error.message, error.hint) + "\n")
    if wants_json(argv):
        # late: see above
        from swecli.headless.formats import failure  # noqa: PLC0415

        sys.stdout.write(dumps(failure(error)) + "\n")
    return error.exit_code
