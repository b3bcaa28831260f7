"""Test running command lines of the user in their own shell, with its real configuration."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from swecli.tools import user_shell
from swecli.tools.keyboard import Keyboard
from swecli.tools.processes import ProcessExit
from swecli.tools.user_shell import UserShell

CONFIGURATIONS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name}"))
    for name in CONFIGURATIONS
]


class Line:
    """A run of one command line: how it ended, and what it printed."""

    def __init__(self, end: ProcessExit, text: str) -> None:
        self.code = end.code
        self.text = text


class Person:
    """A user with a shell and a configuration of it."""

    def __init__(self, name: str, configuration: str, home: Path, root: Path) -> None:
        self.home = home
        self.root = root
        path = home / CONFIGURATIONS[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(configuration)
        program = shutil.which(name)
        assert program is not None
        self.environ = {**os.environ, "HOME": str(home), "SHELL": program, "TERM": "dumb"}
        self.environ.pop("XDG_CONFIG_HOME", None)
        self.environ.pop("ZDOTDIR", None)
        self.shell = UserShell.find(self.environ, root, "/bin/sh")

    async def run(self, command: str, timeout: float = 30.0) -> Line:
        output: list[bytes] = []
        with Keyboard(lambda: output.append(b"It waits for keys")).open() as keyboard:
            end = await self.shell.run(
                command,
                terminal=os.ttyname(keyboard),
                cwd=self.root,
                env=self.environ,
                timeout=timeout,
                on_output=output.append,
                pass_fds=(),
                stdin=keyboard,
            )
        return Line(end, b"".join(output).decode())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", SHELLS)
async def test_aliases_and_functions_count_and_what_the_configuration_prints_does_not(
    name: str, home: Path, root: Path
) -> None:
    function = (
        "function greet; echo hello $argv; end" if name == "fish" else "greet() { echo hello $1; }"
    )
    person = Person(name, f"echo welcome\nalias ll='echo listed'\n{function}\n", home, root)
    assert (await person.run("ll x")).text == "listed x\n"
    assert (await person.run("greet 'you'")).text == "hello you\n"
    assert person.shell.pop_problem() == ""


@pytest.mark.parametrize("name", SHELLS)
async def test_the_code_and_the_errors_of_a_line_are_shown(
    name: str, home: Path, root: Path
) -> None:
    person = Person(name, "alias ll='echo listed'\n", home, root)
    assert (await person.run("false")).code == 1
    line = await person.run("echo 'open")
    assert line.code != 0
    assert line.text != ""
    assert (await person.run("echo a # b\necho c >&2")).text == "a\nc\n"
    assert person.shell.pop_problem() == "", "the line was wrong, not the configuration"


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("configuration", ["exit 3", "exec false", "exec cat"])
async def test_a_configuration_that_leaves_the_shell_is_said_once_and_left_out(
    name: str, configuration: str, home: Path, root: Path
) -> None:
    if name == "fish":  # it reads its configuration in any case, and `exit` only ends that
        configuration = f"status is-interactive; and {configuration.replace('exit 3', 'exec true')}"
    person = Person(name, f"{configuration}\n", home, root)
    assert (await person.run("echo ran; touch ran")).text == "ran\n"
    assert f"The configuration of {name} ends it" in person.shell.pop_problem()
    assert (await person.run("echo again")).text == "again\n"
    assert person.shell.pop_problem() == ""


@pytest.mark.parametrize("name", SHELLS)
async def test_a_configuration_that_hangs_is_not_waited_for(
    name: str, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_shell, "_LIMIT", 0.3)
    hanging = "status is-interactive; and sleep 60" if name == "fish" else "sleep 60"
    person = Person(name, f"{hanging}\n", home, root)
    assert (await person.run("echo ran >> ran; cat ran")).text == "ran\n"
    assert "takes more than" in person.shell.pop_problem()


async def test_an_interrupt_while_the_configuration_is_read_ends_it(home: Path, root: Path) -> None:
    person = Person("bash", "touch begun; sleep 60\n", home, root)
    running = asyncio.create_task(person.run("touch ran"))
    while not (root / "begun").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not (root / "ran").exists()


async def test_a_configuration_may_ask_and_gets_no_answer(home: Path, root: Path) -> None:
    person = Person("bash", "read -p 'name? ' name\nalias ll='echo got'\n", home, root)
    assert (await person.run("ll x")).text == "got x\n"


def test_a_shell_that_cannot_be_used_is_named_and_the_fixed_one_runs(root: Path) -> None:
    (root / "zsh").write_text("#!/bin/sh\n")
    (root / "zsh").chmod(0o755)
    (root.parent / "bash").symlink_to(root / "zsh")
    for chosen, reason in (
        ("/bin/false", "no shell that is known"),
        ("/usr/sbin/nologin", "no shell that is known"),
        ("bin/bash", "no absolute path"),
        ("/nowhere/bash", "cannot be run"),
        (f"{root}/zsh", "lies in this folder"),
        (f"{root.parent}/bash", "lies in this folder"),
    ):
        shell = UserShell.find({"SHELL": chosen}, root, "/bin/sh")
        assert (shell.program, shell.is_interactive) == ("/bin/sh", False)
        assert reason in shell.pop_problem()
        assert shell.pop_problem() == ""


def test_without_a_shell_the_fixed_one_runs_without_a_word(root: Path) -> None:
    shell = UserShell.find({}, root, "/bin/bash")
    assert (shell.program, shell.is_interactive, shell.problem) == ("/bin/bash", False, "")
