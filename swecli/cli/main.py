"""The command line: flags become a `Start`, a face runs, its exit code is ours. Light until it knows what is wanted."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from swecli import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself would double what --version loads
    from typing import NoReturn


def main() -> NoReturn:
    """Run swecli with the process's own arguments and end the process."""
    gc.set_threshold(50_000, 20, 50)  # else a start looks 240 times at modules of which none is garbage
    _stand_in()
    try:
        code = _run(sys.argv[1:])
    except SystemExit as left:  # --help
        code = left.code if isinstance(left.code, int) else 0
    except OSError:  # not even the complaint could be written
        code = 1
    _leave(code)


def _run(argv: list[str]) -> int:
    if argv in (["--version"], ["-V"]):  # before anything is imported: scripts ask this often
        sys.stdout.write(f"swecli {__version__}\n")
        return 0
    # late: --version must not pay for it
    from swecli.cli.entry import run_safely  # noqa: PLC0415

    return run_safely(argv)


def _stand_in() -> None:
    """Streams that were closed are replaced, so that no file of ours gets their number; odd letters become `?`."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115, PTH123
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # what Python opens can do that


def _leave(code: int) -> NoReturn:
    """End the process, without taking each loaded module apart: that is a sixth of a run's time and saves nothing."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            if stream is sys.stdout and not code and not isinstance(error, BrokenPipeError):
                sys.stderr.write(f"swecli: The output cannot be written: {error}.\n")
            code = code or (141 if isinstance(error, BrokenPipeError) else 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else Python tries again and complains
    if "litellm" in sys.modules:  # its own tear-down takes over a second
        os._exit(code)
    if "sqlalchemy" in sys.modules:
        atexit.register(os._exit, code)
    sys.exit(code)
