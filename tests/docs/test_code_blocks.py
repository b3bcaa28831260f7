"""Run every code block of the documentation and compare its output with the block.

- ```swecli     a conversation at the prompt: `> line` is typed, `[key]` is pressed, other lines must appear in order;
                with the title "in the same session" it goes on in the session of the block before
- ```console    `$ command` is run in the same project, with its continuation lines `> `; the lines after it must be
                its output, `...` matches any lines; `cd` changes the folder for the rest of the page
- ```python     is run
- ```toml       must be settings that load
- ```text       is not run
The blocks of one page share one project and one home.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from swecli.config.settings import load_settings
from tests.support.conversation import KEYS, Conversation
from tests.support.project import make_project

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONTINUED = ' title="in the same session"'
BLOCK = re.compile(rf"^```(\w*(?:{CONTINUED})?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
KINDS = {"swecli", "console", "python", "toml", "text", "sh", "yaml", "json"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_code_block_has_a_known_kind(page: Path) -> None:
    assert {kind.removesuffix(CONTINUED) for kind, _ in blocks(page)} <= KINDS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_have_existing_targets(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


WITH_BLOCKS = [
    p for p in PAGES if {kind for kind, _ in blocks(p)} & {"swecli", "console", "python", "toml"}
]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name)
def test_code_blocks_produce_the_documented_output(page: Path, tmp_path: Path) -> None:
    tutorial = (
        page.parent.name == "tutorial"
    )  # Its reader begins in a folder of their own, with a clone elsewhere.
    project = (tmp_path / "begun") if tutorial else make_project(tmp_path / "shop")
    project.mkdir(exist_ok=True)
    (tmp_path / "home" / "src").mkdir()
    (tmp_path / "home" / "src" / "swecli").symlink_to(ROOT)
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "swecli").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m swecli "$@"\n')
    (commands / "swecli").chmod(0o755)
    python = str(Path(sys.executable).parent)
    env = {
        "PATH": f"{commands}:{python}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
    }
    for kind, text in blocks(page):
        if kind == "swecli":
            converse(text, project, env)
        elif kind == f"swecli{CONTINUED}":
            converse(f"$ swecli -c\n{text}", project, env)
        elif kind == "console":
            project = run_console(text, project, env)
        elif kind == "python":
            subprocess.run(
                [sys.executable, "-c", text], cwd=project, env={**os.environ, **env}, check=True
            )
        elif kind == "toml":
            file = tmp_path / "config.toml"
            file.write_text(text)
            assert tomllib.loads(text)
            load_settings(user_file=file, project_file=None, environ={}, flags={})


def converse(text: str, project: Path, env: dict[str, str]) -> None:
    """Type the input lines and wait for the output lines. The first line may be the command that starts the program."""
    lines = [line for line in text.splitlines() if line.strip()]
    command = lines.pop(0).removeprefix("$ ").split() if lines[0].startswith("$ ") else ["swecli"]
    argv = (sys.executable, "-m", "swecli", *command[1:])
    # a first start without a model would ask for one
    env = {"SWECLI_MODEL": "demo"} | env
    with Conversation(argv, env=env, cwd=project) as talk:
        talk.wait(r"^>")
        since, typed = 0, False
        for line in lines:
            if line.startswith("> "):
                if typed:  # It follows another input line directly, so no output is awaited.
                    talk.pump(0.3)
                else:
                    talk.settle()
                    since = talk.mark()
                talk.line(line[2:])
            elif match := re.fullmatch(rf"\(press (\d|{'|'.join(KEYS)})\)", line.strip().lower()):
                talk.settle()
                if match[
                    1
                ].isdigit():  # A question accepts no key before it has been visible for a moment.
                    talk.wait("Answer with a number", since)
                talk.child.send(KEYS.get(match[1], match[1]))
            elif line.strip() != "...":
                talk.wait(
                    re.escape(" ".join(line.split()))
                    .replace(r"\ ", r"\s+")
                    .replace(r"\.\.\.", ".*"),
                    since,
                )
            typed = line.startswith("> ")
        if talk.child.isalive():
            talk.settle()
            talk.line("/exit")
            assert talk.wait_for_exit() == 0


def run_console(text: str, project: Path, env: dict[str, str]) -> Path:
    """Run each command and compare its output with the block; return the reader's folder afterwards."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = re.sub(r"\n> ", "\0", part).partition("\n")
        command = command.replace("\0", "\n")
        if command.startswith("cd "):
            project = project / command[3:]
            continue
        done = subprocess.run(
            command,
            shell=True,
            cwd=project,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        pattern = re.escape(expected.strip()).replace(r"\.\.\.", r"[\s\S]*")
        assert re.fullmatch(pattern, (done.stdout + done.stderr).strip()), (
            f"{command}\n{done.stdout}{done.stderr}"
        )
    return project
