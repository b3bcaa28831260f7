"""`swecli acp`: sessions in an editor, over its pipes."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from swecli.cli.flags import Parser, subcommand
from swecli.cli.logs import log_to
from swecli.cli.startup import make_start
from swecli.cli.subcommands import configuration_of
from swecli.config.paths import Paths
from swecli.config.settings import Start
from swecli.llm import default_models
from swecli.values import dataclass


@subcommand
def _acp(parser: Parser) -> None:
    """Serve an editor that speaks the Agent Client Protocol, on stdin and stdout. The editor starts it."""
    add = parser.add_argument
    add("-m", "--model", metavar="PROVIDER/NAME", help=default_models.EXAMPLES)
    add("--mode", metavar="MODE", help="that sessions begin in: ask (default), edits, plan or auto")
    add("--allow-home", action="store_true", help="allow your home folder, its parents and /")
    parser.set_defaults(run=_serve)


@dataclass(frozen=True, slots=True)
class _Configurations:
    """The configuration by the flags of the command line, for whatever folder the editor names."""

    args: argparse.Namespace

    def of_session(self, folder: str, session: str | None) -> Start:
        arguments = vars(self.args) | {"cwd": folder, "resume": session}
        return replace(make_start(argparse.Namespace(**arguments)), attended=True)

    def anywhere(self) -> Start:
        return configuration_of(self.args)


def _serve(args: argparse.Namespace) -> int:
    log_to(Paths.find(os.environ).log)  # the library logs too
    # late: --help needs neither the library nor an agent
    from swecli.acp.server import serve
    from swecli.cli.event_loop import run_event_loop
    from swecli.headless.signals import until_signal

    async def run() -> int:
        code, signal_code = await until_signal(serve(_Configurations(args)))
        return signal_code or code or 0

    return run_event_loop(run())
