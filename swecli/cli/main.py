"""The command line: flags become a `Start`, a face runs, its exit code is ours. Light until it knows what is wanted."""

from __future__ import annotations

import os
import sys

from swecli import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself would double what --version loads
    from typing import NoReturn


def main() -> NoReturn:
    """Run swecli with the process's own arguments and end the process."""
    argv = sys.argv[1:]
    if argv in (["--version"], ["-V"]):  # before anything is imported: scripts ask this often
        sys.stdout.write(f"swecli {__version__}\n")
        sys.exit(0)
    # late: --version must not pay for it
    from swecli.cli.entry import run_safely  # noqa: PLC0415

    _leave(run_safely(argv))


def _leave(code: int) -> NoReturn:
    """End the process. litellm's own tear-down takes over a second and has nothing of ours to save."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (BrokenPipeError, ValueError):
        code = code or 1
    if "litellm" in sys.modules:
        os._exit(code)
    sys.exit(code)
