"""Prepare a run: directory, configuration, model and log, before anything heavy is imported."""

from __future__ import annotations

import argparse
import logging
import os
import pwd
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths, project_root
from swecli.config.project_files import PROJECT_SETTINGS
from swecli.config.settings import SETTINGS, Start, load_settings
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.llm.price_table import prepare_environment
from swecli.llm.registry import choose_model
from swecli.models.errors import BadInput, ConfigError, StoreError, SwecliError, UsageError
from swecli.redact import redact
from swecli.regular_files import read_regular

MAX_LOG_BYTES = 1_000_000


def read_configuration(
    config: str | None, flags: Mapping[str, Any], *, everything: bool = False
) -> Start:
    """Load the settings for the working directory, with `flags` as the last layer, but choose no model. With
    `everything` the project's files are trusted as they are, for this run. Raises ConfigError, BadInput."""
    prepare_environment(os.environ)
    paths, cwd, file = (
        Paths.find(os.environ),
        _working_directory(),
        Path(config) if config else None,
    )
    root = project_root(cwd)
    trust = FolderTrust(root, everything=True) if everything else TrustLedger.of(paths).open(root)
    project = root / PROJECT_SETTINGS
    text, problem = _read_project_settings(project, trust)
    settings, notices = load_settings(
        user_file=file or paths.config_file,
        project_file=project,
        project_text=text,
        environ=os.environ,
        flags=flags,
        must_exist=config is not None,
    )
    if problem:
        notices.append(f"{PROJECT_SETTINGS} is not used: {problem}")
    return Start(
        settings, paths, cwd, dict(os.environ), trust=trust, notices=tuple(notices), config=file
    )


def _read_project_settings(file: Path, trust: FolderTrust) -> tuple[str, str]:
    """Return the text of a project's settings and "", or "" and why they are not used; both "" if there are none.
    Raises ConfigError."""
    try:
        data = read_regular(file)
    except (FileNotFoundError, NotADirectoryError):
        return "", ""
    except OSError as error:
        return "", f"{error.strerror}"
    if problem := trust.objection(file, data):
        return "", problem
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 text.", "Correct the file or move it away."
        ) from error


def enter_directory(args: argparse.Namespace) -> None:
    """Change to the directory of `-C`; `--db` and `--config` stay relative to the old one. Raises BadInput."""
    if args.cwd is None:
        return
    args.db = _absolute_database(args.db)
    args.config = args.config and str(_working_directory() / args.config)
    try:
        os.chdir(args.cwd)
    except OSError as error:
        raise BadInput(
            f"Cannot change to {args.cwd!r}: {error.strerror}.", "Give -C an existing folder."
        ) from error
    args.cwd = None


def _absolute_database(database: str | None) -> str | None:
    scheme = "sqlite:///" if (database or "").startswith("sqlite:///") else ""
    path = (database or "").removeprefix(scheme)
    if not path.strip() or path == ":memory:" or "://" in path or path.startswith(("/", "~", "?")):
        return database
    return f"{scheme}{_working_directory() / path}"


def _working_directory() -> Path:
    """Return the current directory. Raises BadInput if it was deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        raise BadInput(
            f"The working directory is gone: {error.strerror}.", "Change to another one."
        ) from error


def _require_workspace(folder: Path, *, allow_home: bool) -> None:
    """Raise UsageError for `/`, the user's home and its parents unless allowed, because they contain all files."""
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # in a container, the user may have no account
        account = ""
    # both the environment's home and the account's may be unset or wrong
    homes = [
        Path(home).resolve()
        for home in (os.environ.get("HOME", ""), account, "/")
        if home.startswith("/")
    ]
    place = folder.resolve()
    if allow_home or not any(home.is_relative_to(place) for home in homes):
        return
    what = (
        "is the whole disk"
        if place == Path("/")
        else f"{'is' if place in homes else 'holds'} your home folder"
    )
    raise UsageError(
        f"{folder} {what}: everything in it could be read and changed.",
        "Change into a project (cd, or -C DIR), or pass --allow-home.",
    )


def make_start(args: argparse.Namespace) -> Start:
    """Return the configuration of a run or of a subcommand that runs turns. Raises ConfigError, UsageError, BadInput,
    StoreError."""
    given = vars(args)
    prompt, resume = given.get("prompt", ""), given.get("resume")
    try:  # undecodable bytes of an argument would be sent as something else
        prompt.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            "The prompt is not UTF-8 text.", "Set the terminal to UTF-8, or pipe the text in."
        ) from error
    enter_directory(args)
    folder = _working_directory()
    folder = project_root(folder) if given.get("whole_project") else folder
    _require_workspace(folder, allow_home=given.get("allow_home", False))
    flags = {name: given.get(name) for name in SETTINGS}
    configured = read_configuration(args.config, flags, everything=given.get("trust", False))
    make_folders(configured.paths)
    _log_to(configured.paths.log)
    choice = choose_model(configured.settings, os.environ)
    session = "" if given.get("continue_last") else resume or None
    return replace(configured, choice=choice, resume=session, pick=resume == "", prompt=prompt)


def make_folders(paths: Paths) -> None:
    """Create the program's directories. Raises StoreError."""
    try:
        paths.ensure()
    except OSError as error:
        raise StoreError(
            f"The folder {error.filename} cannot be created: {error.strerror}.",
            "Set SWECLI_HOME to a folder you can write to.",
        ) from error


def internal_error(error: Exception) -> SwecliError:
    """Log an unexpected error with its traceback, and return the error to show."""
    problem = f"Internal error: {type(error).__name__}: {error}."
    try:
        log = Paths.find(os.environ).log
    except SwecliError:
        return SwecliError(problem)
    _log_to(log)
    logging.getLogger(__name__).error("internal error", exc_info=error)
    return SwecliError(problem, f"The details are in {log}.")


def _log_to(path: Path) -> None:
    """Write warnings and errors, redacted, to this file only. It rotates at `MAX_LOG_BYTES`; if it cannot be written,
    nothing is logged."""
    root = logging.getLogger()
    if any(getattr(handler, "baseFilename", None) == str(path) for handler in root.handlers):
        return
    handler = _LogFile(path, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a full disk must not write over the conversation


class _LogFile(logging.FileHandler):
    """A log file that only this user can read, with secrets redacted. It is renamed to `….1` at `MAX_LOG_BYTES`; the
    standard library's rotating handler would add 3 ms of imports to every start."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            if self.stream is not None and self.stream.tell() >= MAX_LOG_BYTES:
                self.close()  # the next line opens a new file
                Path(self.baseFilename).replace(f"{self.baseFilename}.1")
            super().emit(record)

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        return super()._open()

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
