"""Test swecli as a process: closed, full and broken streams, and the modules that it imports."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from swecli import __version__
from tests.support.shell import COMMAND, environment, swecli

HEAVY = {
    "httpx",
    "litellm",
    "openai",
    "prompt_toolkit",
    "pydantic",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "sqlmodel",
    "tiktoken",
}


def imported_modules(*arguments: str) -> set[str]:
    """Return the names of all modules that a run imports."""
    words = [sys.executable, "-X", "importtime", "-m", "swecli", *arguments]
    outcome = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)
    rows = [
        line.rpartition("|")[2].strip()
        for line in outcome.stderr.splitlines()
        if line.startswith("import time:")
    ]
    return set(rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--frob"],
        ["hello"],
        ["config", "--help"],
        ["config", "path"],
        ["sessions", "--help"],
        ["sessions", "frob"],
        ["playbook", "--help"],
        ["db", "--help"],
        ["models", "--help"],
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_help_errors_and_config_path_import_no_heavy_module(arguments: list[str]) -> None:
    loaded = imported_modules(*arguments)
    assert "argparse" in loaded
    assert not HEAVY & loaded


def test_help_loads_neither_settings_nor_models() -> None:
    assert not {
        "tomllib",
        "swecli.config.settings",
        "swecli.llm.registry",
        "logging",
        "socket",
        "asyncio",
    } & imported_modules("--help")


@pytest.mark.slow
def test_help_and_version_are_printed_to_stdout() -> None:
    assert swecli("--help").out.startswith("usage: swecli")
    assert swecli("-V").out == swecli("--version").out == f"swecli {__version__}\n"


def run_shell_line(command: str, **environ: str) -> tuple[int, str, str]:
    """Run a shell line in which `$S` is swecli; return the exit code of its last command, stdout and stderr."""
    words = {"S": " ".join(COMMAND), **environ}
    outcome = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env=environment(words), check=False
    )
    assert "Traceback" not in outcome.stderr
    return outcome.returncode, outcome.stdout, outcome.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", ["--help", "--version", "config get", "models", "-p --frob --output-format json"]
)
def test_a_broken_pipe_is_not_reported(arguments: str, unbuffered: str) -> None:
    _, out, err = run_shell_line(f"$S {arguments} | true", PYTHONUNBUFFERED=unbuffered)
    assert out == ""
    assert "Exception" not in err
    assert "Broken pipe" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["config get", "models --json"])
def test_a_full_disk_is_reported(arguments: str, unbuffered: str) -> None:
    code, _, err = run_shell_line(f"$S {arguments} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert code == 1
    assert err == "swecli: The output cannot be written: No space left on device.\n"


@pytest.mark.parametrize(
    ("closed", "code"), [("<&-", 0), ("2>&-", 0), (">&-", 1), ("<&- >&- 2>&-", 1)]
)
@pytest.mark.slow
def test_closed_streams_change_the_exit_code_only_if_output_is_lost(closed: str, code: int) -> None:
    assert run_shell_line(f"$S config path {closed}")[0] == code
    assert run_shell_line(f"$S {closed}")[0] == 2


def test_output_to_a_closed_stdout_is_reported_as_an_error() -> None:
    code, _, err = run_shell_line("$S config path >&-")
    assert code == 1
    assert err == "swecli: The output cannot be written: Bad file descriptor.\n"


@pytest.mark.slow
def test_characters_outside_the_stream_encoding_are_replaced() -> None:
    outcome = swecli("config", "get", "nämë-漢", environ={"PYTHONIOENCODING": "ascii"})
    assert outcome.code == 42
    out = swecli("config", "path", "--config", "漢.toml", environ={"PYTHONIOENCODING": "ascii"})
    assert (out.code, out.out.endswith("/?.toml\n")) == (0, True)
