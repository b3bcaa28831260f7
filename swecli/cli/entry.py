"""From arguments to a face, and every failure to one line and an exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from swecli import __version__
from swecli.cli.flags import build_parser
from swecli.config.load import PROJECT_FILE, load_settings
from swecli.config.logs import log_to
from swecli.config.paths import find_paths
from swecli.config.start import Start
from swecli.config.trust import is_trusted, project_root
from swecli.llm.choose import choose_model
from swecli.llm.environment import prepare_environment
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.model_io import Choice

SUBCOMMANDS = ("sessions", "playbook", "config", "db", "models", "doctor")


def run_safely(argv: list[str]) -> int:
    """Run and return the exit code. Nothing escapes as a traceback; what was unforeseen is in the log."""
    try:
        return run(argv)
    except SwecliError as error:
        sys.stderr.write(f"swecli: {error.message}  {error.hint}".rstrip() + "\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has gone: nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last door: a user never sees a traceback
        log = find_paths(os.environ).log
        log_to(log)
        logging.getLogger(__name__).exception("unforeseen")
        sys.stderr.write(f"swecli: unforeseen {type(error).__name__}: {error}  The details are in {log}\n")
        return 1


def run(argv: list[str]) -> int:
    """Run what the arguments ask for. Raises SwecliError."""
    if argv and argv[0] in SUBCOMMANDS:
        # late: a chat needs none of them
        from swecli.cli.admin import run_subcommand  # noqa: PLC0415

        return run_subcommand(argv[0], argv[1:])
    args = build_parser().parse_args(argv)
    if args.version:
        sys.stdout.write(f"swecli {__version__}\n")
        return 0
    start = make_start(args)
    log_to(start.paths.log)
    return run_headless(start, args) if args.headless else run_screen(start)


def make_start(args: argparse.Namespace) -> Start:
    """Read the environment and the files, choose the model. Raises ConfigError, UsageError, BadInput."""
    if args.cwd:
        try:
            os.chdir(args.cwd)
        except OSError as error:
            raise BadInput(f"cannot work in {args.cwd}: {error.strerror}") from error
    if args.go_on and args.resume is not None:
        raise UsageError("-c and -r exclude each other", "Use one of them.")
    if args.headless and args.resume == "":
        raise UsageError("-r needs a session id or name with -p", "See `swecli sessions list`.")
    prepare_environment(os.environ)
    paths, cwd = find_paths(os.environ), Path.cwd()
    paths.ensure()
    trusted = is_trusted(paths, project_root(cwd))
    flags = {name: getattr(args, name) for name in ("model", "window", "mode", "max_turns", "max_budget_usd", "db")}
    flags["color"] = False if args.no_color else None
    config = Path(args.config) if args.config else paths.config_file
    if args.config and not config.is_file():
        raise BadInput(f"there is no settings file {config}")
    project = cwd / PROJECT_FILE
    settings, notices = load_settings(
        user_file=config, project_file=project if trusted else None, environ=os.environ, flags=flags
    )
    if project.is_file() and not trusted:
        notices.append(f"{PROJECT_FILE} is not used: this folder is not trusted (/trust says yes to it)")
    choice = choose_model(settings, os.environ)
    return Start(
        settings=settings,
        paths=paths,
        cwd=cwd,
        environ=dict(os.environ),
        choice=Choice(choice.name, choice.why),
        resume="" if args.go_on else (args.resume or None),
        pick=args.resume == "",
        prompt=args.prompt,
        trusted=trusted,
        notices=tuple(notices),
    )


def run_screen(start: Start) -> int:
    """The REPL."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("this is not a terminal", "Use -p for one prompt without a screen.")
    # late: headless runs and subcommands do not pay for the line editor
    import asyncio  # noqa: PLC0415

    from swecli.repl.repl import REPL  # noqa: PLC0415

    return asyncio.run(REPL(start).run())


def run_headless(start: Start, args: argparse.Namespace) -> int:
    """One prompt, written to stdout."""
    piped = read_piped()
    prompt, attached = (start.prompt, piped) if start.prompt.strip() else (piped, "")
    if not prompt.strip():
        raise BadInput("there is no prompt", 'Give one: swecli -p "list files", or pipe it in.')
    # late: the screen does not pay for it, and these import the store and the tools
    import asyncio  # noqa: PLC0415

    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.headless.formats import Writer  # noqa: PLC0415
    from swecli.headless.runner import refuse, run_prompt  # noqa: PLC0415

    writer = Writer(args.output_format, sys.stdout, sys.stderr)
    try:
        runtime = build_runtime(start, refuse)
    except SwecliError as error:
        if args.output_format == "text":
            raise
        writer.refuse(error)
        return error.exit_code
    for line in (*start.notices, *runtime.notices):
        sys.stderr.write(f"swecli: {line}\n")
    if runtime.agent.model.offline:
        sys.stderr.write(f"swecli: {start.choice.name}: {start.choice.why}\n")
    try:
        return asyncio.run(run_prompt(runtime, prompt, writer, attached))
    finally:
        runtime.close()


def read_piped() -> str:
    """What was piped in, "" for a terminal or nothing."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
