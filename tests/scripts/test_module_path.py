"""Test that no way of starting swecli imports modules from the working directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.project import make_project
from tests.support.shell import ROOT, CompletedRun, check_output
from tests.support.strict_provider import Call, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
OURS = (
    "swecli",
    "litellm",
    "rich",
    "prompt_toolkit",
    "pydantic",
    "sqlmodel",
    "tiktoken",
    "platformdirs",
)
OTHERS = ("sitecustomize", "usercustomize", "startup")
NAMED = ("json", "secrets", "tomllib", "sqlite3", "re")
ALL = (*OURS, *OTHERS, *sys.stdlib_module_names)


def make_traps(names: tuple[str, ...]) -> Path:
    """Create a project, in the working directory, in which each of these modules writes to a file when it is run;
    return that file."""
    make_project(Path.cwd())
    mark = Path("../mark").resolve()
    text = (
        f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\nraise SystemExit('the trap was run')\n"
    )
    for name in names:
        Path(f"{name}.py").write_text(text)
        if name == "swecli":
            Path(name).mkdir()
            for file in ("__init__.py", "__main__.py"):
                Path(name, file).write_text(text)
    (Path.cwd() / "README.md").write_text("changed\n")
    return mark


@pytest.fixture
def installed_command(tmp_path: Path) -> str:
    """Return the installed command: scripts/swecli next to a Python with swecli installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    shutil.copy(ROOT / "scripts" / "swecli", folder / "swecli")
    linked = tmp_path / "linked"
    linked.symlink_to(folder / "swecli")  # as pipx and uv install it
    return str(linked)


def run_program(*argv: str, environ: Mapping[str, str] | None = None) -> CompletedRun:
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    } | dict(environ or {})
    done = subprocess.run(
        argv, capture_output=True, env=env, stdin=subprocess.DEVNULL, timeout=120, check=False
    )
    return check_output(CompletedRun(done.returncode, done.stdout.decode(), done.stderr.decode()))


STARTS = {
    "--help": 0,
    "sessions list": 0,
    "config path": 0,
    "doctor": 0,
    "models": 0,
    "-p hello -m demo": 0,
    "review -m demo": 42,  # the demo model reviews nothing
    "update": 2,
}
ODD = {
    "nothing": {},
    "PYTHONPATH=.": {"PYTHONPATH": "."},
    "an empty entry": {"PYTHONPATH": ":"},
    "PYTHONHOME": {"PYTHONHOME": "."},
    "PYTHONSTARTUP": {"PYTHONSTARTUP": "startup.py", "PYTHONINSPECT": "1"},
}


@pytest.mark.parametrize("arguments", STARTS)
def test_the_installed_command_imports_nothing_from_the_working_directory(
    installed_command: str, arguments: str
) -> None:
    mark = make_traps(ALL)
    done = run_program(installed_command, *arguments.split())
    assert done.code == STARTS[arguments], done.err
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("odd", ODD)
def test_the_installed_command_ignores_python_variables_that_name_the_directory(
    installed_command: str, odd: str
) -> None:
    mark = make_traps(ALL)
    for arguments in ("--version", "-p hello -m demo"):
        assert run_program(installed_command, *arguments.split(), environ=ODD[odd]).code == 0
    assert not mark.exists(), mark.read_text()


def test_the_development_commands_import_nothing_from_the_working_directory() -> None:
    if not (ROOT / ".venv" / ".made-from-run").exists():
        pytest.skip("scripts/setup was not run here")
    mark = make_traps(ALL)
    for environ in ODD.values():
        for start in (ROOT / "scripts" / "start", ROOT / ".venv" / "bin" / "swecli"):
            assert run_program(str(start), "sessions", "list", environ=environ).code == 0
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize(
    "environ", [{}, {"PYTHONPATH": "."}, {"PYTHONPATH": ":"}, {"PYTHONSAFEPATH": "1"}]
)
@pytest.mark.parametrize("arguments", ["sessions list", "-p hello -m demo", "review -m demo"])
def test_python_m_imports_nothing_from_the_working_directory(
    arguments: str, environ: dict[str, str]
) -> None:
    mark = make_traps(NAMED)
    done = run_program(sys.executable, "-m", "swecli", *arguments.split(), environ=environ)
    assert done.code == STARTS[arguments], done.err
    assert not mark.exists(), mark.read_text()


def test_a_package_in_the_working_directory_imports_nothing_else_from_there() -> None:
    shutil.copytree(ROOT / "swecli", "swecli")
    code = (
        "import runpy, sys\n"
        "here = sys.path[0] = sys.argv.pop()\n"
        "try: runpy.run_module('swecli', run_name='__main__')\n"
        "except SystemExit: import swecli.cli; print(swecli.__file__, here in sys.path)\n"
    )
    done = run_program(sys.executable, "-c", code, "--version", str(Path.cwd()))
    assert done.out.splitlines()[-1] == f"{Path.cwd()}/swecli/__init__.py False"


def test_the_interactive_prompt_imports_nothing_from_the_working_directory(
    installed_command: str,
) -> None:
    mark = make_traps(ALL)
    with Terminal(
        "-m",
        "demo",
        command=(installed_command,),
        environ={"PYTHONPATH": ".", "PYTHONHOME": "/nowhere"},
    ) as terminal:
        terminal.wait(r"demo · ask")
        terminal.keys("hello\r")
        terminal.wait(r"This is the tour[\s\S]*1 turn sent")
        terminal.keys("\x04")
        terminal.wait_for_exit()
    assert not mark.exists(), mark.read_text()


def test_searches_import_nothing_from_the_directory_and_commands_inherit_pythonpath(
    installed_command: str,
) -> None:
    mark = make_traps(ALL)
    calls = (
        Call("search_files", {"pattern": "chan.ed"}),
        Call("run_command", {"command": 'echo "path=$PYTHONPATH"'}),
    )
    with StrictProvider([Reply(calls=calls), Reply("Done.")]) as server:
        done = run_program(
            *(
                installed_command,
                "-p",
                "go",
                "-m",
                f"openai/{OPENAI_MODEL}",
                "--mode",
                "auto",
                "--output-format",
                "stream-json",
            ),
            environ={**server.environ(), "PYTHONPATH": ".:/lib/mine", "PATH": "/usr/bin:/bin"},
        )
    assert "path=.:/lib/mine" in done.out
    assert "README.md" in done.out
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("tool", ["ruff", "vulture"])
def test_a_review_starts_no_linter(installed_command: str, tool: str, tmp_path: Path) -> None:
    """Linters may load plug-ins from their working directory."""
    mark = make_traps(ALL)
    Path("shop/prices.py").write_text("TAX = 0.2\n")
    linter = tmp_path / "bin" / tool
    linter.write_text(f"#!/bin/sh\ntouch {tmp_path / 'asked'}\n")
    linter.chmod(0o755)
    path = f"{linter.parent}:{os.environ['PATH']}"
    assert (
        run_program(
            installed_command, "review", "-m", "demo", environ={"PYTHONPATH": ".", "PATH": path}
        ).code
        == STARTS["review -m demo"]
    )
    assert not (tmp_path / "asked").exists()
    assert not mark.exists(), mark.read_text()


def test_a_deleted_working_directory_is_reported(installed_command: str, tmp_path: Path) -> None:
    folder = tmp_path / "deleted"
    script = f'mkdir "{folder}" && cd "{folder}" && rmdir "{folder}" && exec "{installed_command}" playbook list'
    done = run_program("sh", "-c", script)
    assert "The working directory is gone" in done.err
