"""Check the installation: one line per check, exit code 1 if one fails."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from contextlib import closing

from swecli import __version__
from swecli.config.settings import Start
from swecli.llm.choosing import choose_model
from swecli.llm.price_table import tokenizer_folder
from swecli.llm.registry import make_model
from swecli.models.action import ActionResult
from swecli.models.errors import SwecliError
from swecli.store.sqlite.database import open_database
from swecli.store.sqlite.files import locate
from swecli.tools.hooks.files import may_have_hooks
from swecli.tools.own_programs import NO_RIPGREP, find_program, find_ripgrep
from swecli.tools.sandbox import Sandbox


def diagnose(configuration: Start | SwecliError) -> ActionResult:
    """Run all checks. `configuration` is the error if it cannot be read."""
    value = []
    lines = []
    for name in _CHECKS:
        try:
            detail = _run_check(name, configuration)
            value.append({"what": name, "ok": True, "detail": detail})
            lines.append(f"ok   {name}: {detail}")
        except SwecliError as error:
            value.append({"what": name, "ok": False, "detail": str(error)})
            lines.append(f"FAIL {name}: {error}")
    return ActionResult(value, tuple(lines), code=0 if all(row["ok"] for row in value) else 1)


def _run_check(name: str, configuration: Start | SwecliError) -> str:
    """Return what the check has to say. Raises SwecliError for a problem."""
    if not isinstance(configuration, SwecliError):
        return _CHECKS[name](configuration)
    if name == "settings":
        raise configuration
    raise SwecliError("not checked: the settings cannot be read")


def _check_settings(start: Start) -> str:
    if start.trusted:
        return "ok; this folder is trusted"
    return "ok; this folder is not trusted: its own settings and instructions are ignored"


def _check_folders(start: Start) -> str:
    paths = start.paths
    try:
        paths.ensure()
    except OSError as error:
        raise SwecliError(
            f"{error.filename} cannot be created: {error.strerror}.", "Set SWECLI_HOME."
        ) from error
    folders = dict.fromkeys((paths.config, paths.data, paths.state, paths.cache))
    unwritable = [str(path) for path in folders if not os.access(path, os.W_OK | os.X_OK)]
    if unwritable:
        raise SwecliError(
            f"{', '.join(unwritable)} cannot be written.",
            "Check the permissions, or set SWECLI_HOME.",
        )
    return ", ".join(str(path) for path in folders)


def _check_database(start: Start) -> str:
    location = start.database
    path = locate(location)
    if path and not path.exists():
        return f"{path}: none yet, the first message creates it"
    with closing(open_database(location)) as database:
        problems = [*database.notices, *database.check()]
    if problems:
        raise SwecliError("; ".join(problems))
    return f"{path or location}: ok"


def _check_model(start: Start) -> str:
    choice = choose_model(start.settings, start.environ, or_demo=True)
    make_model(choice.name, start.settings, start.environ)  # raises what it lacks
    return f"{choice.name}: {choice.reason}"


def _check_tokens(start: Start) -> str:
    folder = tokenizer_folder()
    return f"tables in {folder}" if folder else "estimated: the tables are not installed"


def _check_search(start: Start) -> str:
    if program := find_ripgrep(start.environ, start.cwd):
        return f"ripgrep at {program}"
    raise SwecliError(NO_RIPGREP, "Until then files are neither listed nor searched.")


def _check_sandbox(start: Start) -> str:
    sandbox = Sandbox.of(start)
    if sandbox.refusal:
        raise SwecliError(sandbox.refusal)
    return sandbox.describe()


def _check_hooks(start: Start) -> str:
    if not may_have_hooks(start):
        return "none"
    # late: few use hooks
    from swecli.actions.hooks import describe_hooks

    return describe_hooks(start)


_CHECKS: dict[str, Callable[[Start], str]] = {
    "swecli": lambda start: (
        f"{__version__}, Python {platform.python_version()}, {platform.system()}"
    ),
    "settings": _check_settings,
    "folders": _check_folders,
    "database": _check_database,
    "model": _check_model,
    "tokens": _check_tokens,
    "search": _check_search,
    "sandbox": _check_sandbox,
    "hooks": _check_hooks,
    "git": lambda start: (
        find_program("git", start.environ, start.cwd)
        or "not installed: files are listed by walking the tree"
    ),
}
