"""Do something in a folder of its own as another user: in a child process that becomes that user."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  now: an ordinary user may not be able to read it later
import ctypes  # noqa: F401  as above
import encodings.utf_8_sig  # noqa: F401  as above
import json
import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import swecli.tools.execute  # noqa: F401  as above
from swecli.tools.registry import ToolRegistry

ToolRegistry.discover().load()  # as above

_REPLACED = ("/tmp", "/var/tmp", "/run", "/dev")  # where a command in the sandbox sees other files


def print_as_user(
    user: str,
    work: Callable[[Path], Coroutine[Any, Any, list[dict[str, Any]]]],
    prepare: Callable[[Path], None] = lambda base: None,
) -> None:
    """Print the rows that `work` returns for a new folder, as JSON. As root with a `user` it is done as that one, after
    `prepare` as root. Ends the program with the exit code of the child."""
    base = _make_base()
    prepare(base)
    child = os.fork()
    if child == 0:
        os.umask(0o022)
        os.chdir(base)
        if user:
            _become(user, base)
        print(json.dumps(asyncio.run(work(base))))
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    shutil.rmtree(base, ignore_errors=True)
    sys.exit(os.waitstatus_to_exitcode(status))


def _make_base() -> Path:
    """Return a new folder in which everybody could write, but for the sandbox: reachable for any user, and where a
    command in the sandbox sees it."""
    checkout = Path(__file__).resolve().parents[2]
    for place in (Path("/opt"), Path("/srv"), Path("/var/lib"), checkout):
        is_open = all(folder.stat().st_mode & 0o001 for folder in (place, *place.parents))
        is_seen = not any(place.is_relative_to(folder) for folder in _REPLACED)
        if is_open and is_seen and os.access(place, os.W_OK):
            base = Path(tempfile.mkdtemp(prefix=".swecli-matrix-", dir=place))
            base.chmod(0o755)
            return base
    raise SystemExit("no folder for the attempts: none of the usual ones can be written")


def _become(user: str, base: Path) -> None:
    """Become an ordinary user for good, who owns the folder from now on."""
    known = pwd.getpwnam(user)
    os.chown(base, known.pw_uid, known.pw_gid)
    os.setgroups([])
    os.setgid(known.pw_gid)
    os.setuid(known.pw_uid)
