"""Write what `swecli stats` shows as one HTML page, to look at or to send on."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from swecli.cli.subcommands import add_common_flags, open_sessions, positive
from swecli.models.errors import BadInput
from swecli.playbook.action import ActionResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("file", nargs="?", default="", metavar="FILE", help="default: swecli-report-DATE.html")
    parser.add_argument("--days", type=positive, default=30, metavar="N", help="how many (default 30)")
    add_common_flags(parser)


def run(args: argparse.Namespace) -> ActionResult:
    """Read the store, and write the page. Raises BadInput for a file that is there or cannot be written."""
    # late: --help and a wrong argument need neither database nor templates
    from swecli.pages.report import report  # noqa: PLC0415
    from swecli.store.spending import daily_spending  # noqa: PLC0415

    today = date.today()
    with open_sessions(args) as sessions:
        found = daily_spending(sessions.database, args.days, today)
    path = Path(args.file or f"swecli-report-{today}.html").expanduser()
    page = report(found).encode("utf-8", "replace")
    try:
        with path.open("xb") as file:
            file.write(page)
    except OSError as error:
        why = "exists already" if isinstance(error, FileExistsError) else f"cannot be written: {error.strerror}"
        raise BadInput(f"{path} {why}.", "Name another file: swecli report FILE") from error
    return ActionResult({"file": str(path)} | found, (f"Written to {path}.",))
