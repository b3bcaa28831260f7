"""The commands of a day's work, run for real in each mode, and the questions that they led to.

As a program it prints them as JSON: `python -m tests.support.days_work`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from swecli.models.approval import Decision
from tests.support.runtime import YES, User, calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel

MODES = ("ask", "edits", "auto")
LASTING = Decision(allow=True, scope="session")  # "don't ask again this session"
PROJECT = {
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "",
    "tests/test_prices.py": (
        "import unittest\nfrom shop.prices import total\n\n"
        "class Total(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    ),
    "Makefile": "check:\n\tpython3 -m unittest -q\n",
    "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
    "shop.test.js": 'const { test } = require("node:test"); test("it", () => {});\n',
    # the port is in a file, so that two of these never want the same one
    "serve.py": (
        "import http.server, pathlib\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "pathlib.Path('port').write_text(str(server.server_port))\n"
        "print('serving', flush=True)\nserver.serve_forever()\n"
    ),
    "visit.py": (
        "import pathlib, time, urllib.request\n"
        "while not pathlib.Path('port').exists():\n    time.sleep(0.1)\n"
        "port = pathlib.Path('port').read_text()\n"
        "print(urllib.request.urlopen(f'http://127.0.0.1:{port}/Makefile', timeout=5).status)\n"
    ),
    ".gitignore": "port\nlib/\n*.whl\n*.tgz\n__pycache__/\n",
}
WHEEL = "thing-1.0-py3-none-any.whl"
HOOK = "#!/bin/sh\npython3 -m unittest -q\n"
CACHES = (
    ".cache/pip",
    ".npm/_cacache/tmp",
    ".npm/_logs",
)  # at home, as on any machine on which these were used


@dataclass(frozen=True, slots=True)
class Command:
    """A command, the program that it needs and the module of its Python, and what the model says beside it."""

    text: str
    needs: str = "git"
    module: str = ""
    is_job: bool = False
    reason: str = ""  # why it has to leave the sandbox, "" if it need not


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often the user was asked about a command, and how it failed, "" if it did not."""

    command: str
    questions: int
    failure: str


COMMANDS = (
    Command("git status --short"),
    Command("git log --oneline -5"),
    Command("grep -rn total shop"),
    Command("ls shop tests"),
    Command("cat shop/prices.py | head -20"),
    Command("python3 -m unittest -q"),
    Command("python3 -m pytest -q tests", module="pytest"),
    Command("npm test", needs="npm"),
    Command("node --test shop.test.js", needs="node"),
    Command("sed -i 's/sum(prices)/round(sum(prices), 2)/' shop/prices.py"),
    Command("python3 -m unittest -q"),
    Command("make check", needs="make"),
    Command("mkdir -p shop/data && touch shop/data/prices.csv"),
    Command("for name in a b; do echo $name >> shop/data/prices.csv; done"),
    Command("python3 -c 'import shop.prices; print(shop.prices.total([1.005, 2]))'"),
    Command("python3 serve.py", is_job=True),
    Command("python3 visit.py"),
    Command("git diff --stat"),
    Command("git add -A && git commit -qm 'Round the total'"),
    Command("git log --oneline -1"),
    Command("rm -r shop/data"),
    Command(f"python3 -m pip install -q --no-index --target lib ./{WHEEL}", needs="pip"),
    Command("npm pack && npm cache add shop-1.0.0.tgz", needs="npm"),
    Command("git checkout -q -b next"),
    Command("mv shop/prices.py shop/totals.py"),
    Command("sed -i 's/shop.prices/shop.totals/' tests/test_prices.py"),
    Command("python3 -m unittest -q"),
    Command("wc -l shop/*.py"),
    Command("git commit -qam 'Name the module totals'"),
    # what needs the network or another folder: the model has to say why
    Command("touch ../released", reason="the release notes are beside the project"),
)


def make_project(folder: Path) -> None:
    """Make a small repository with tests, and with a hook that runs them."""
    for name in CACHES:
        (Path.home() / name).mkdir(parents=True, exist_ok=True)
    for name, text in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        for name, text in (
            ("METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"),
            ("WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            ("RECORD", ""),
        ):
            wheel.writestr(f"thing-1.0.dist-info/{name}", text)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "a"),
        ("config", "user.email", "a@b"),
        ("add", "-A"),
        ("commit", "-qm", "Begin"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    hook = folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)


def plain_path() -> str:
    """Return the PATH with the interpreter itself first: pyenv's links to it are renewed at each installation, beside
    themselves."""
    programs = Path(sys.executable).resolve().parent
    return f"{programs}:{os.environ['PATH']}"


def can_run(command: Command) -> bool:
    """Return whether the program of a command is there, and its module in the Python of the day's work."""
    if not shutil.which(command.needs):
        return False
    words = ["python3", "-c", f"import {command.module or 'sys'}"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


async def day_of_work(
    folder: Path, sandbox: str, mode: str, answer: Decision = YES
) -> list[Outcome]:
    """Run every command whose program is installed in a mode, with this setting of the sandbox, giving each question
    the same answer."""
    folder.mkdir(parents=True, exist_ok=True)
    make_project(folder)
    commands = [command for command in COMMANDS if can_run(command)]
    replies = [
        reply for one in commands for reply in (calls(("run_command", _arguments(one))), "done")
    ]
    user = User([answer])
    runtime = make_runtime(
        ScriptedModel(replies), user, cwd=folder, mode=mode, sandbox=sandbox, learn=False
    )
    outcomes = []
    for number, command in enumerate(commands, 1):
        asked_before = len(user.asked)
        await run_turn(runtime, f"step {number}", learn=False)
        [call] = runtime.session.messages[-2].tool_calls
        result = str(call.result)
        is_fine = not call.error and (command.is_job or result.startswith("exit code 0"))
        outcomes.append(
            Outcome(command.text, len(user.asked) - asked_before, "" if is_fine else result[-300:])
        )
    await runtime.agent.ctx.commands.jobs.close()
    runtime.close()
    return outcomes


def _arguments(command: Command) -> dict[str, Any]:
    arguments: dict[str, Any] = {"command": command.text}
    if command.is_job:
        arguments["background"] = True
    if command.reason:
        arguments |= {"access": "outside", "why": command.reason}
    return arguments


async def every_day(base: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the outcomes of a day in each mode, with the sandbox and without, by "mode, sandbox"; those of LASTING, by
    "ask, sandbox, for the session", are of a user who allows what he is asked about for the session."""
    days = {
        f"{mode}, {setting}": [
            asdict(one)
            for one in await day_of_work(base / f"{mode}-{setting}" / "shop", setting, mode)
        ]
        for setting in ("auto", "off")
        for mode in MODES
    }
    for setting in ("auto", "off"):
        outcomes = await day_of_work(base / f"session-{setting}" / "shop", setting, "ask", LASTING)
        days[f"ask, {setting}, for the session"] = [asdict(one) for one in outcomes]
    return days


if __name__ == "__main__":
    # not below /tmp, where a command in the sandbox sees other files
    with (
        tempfile.TemporaryDirectory(dir="/var/lib") as home,
        tempfile.TemporaryDirectory(dir="/var/lib") as base,
    ):
        os.environ |= {"HOME": home, "SWECLI_HOME": home, "PATH": plain_path()}
        print(json.dumps(asyncio.run(every_day(Path(base)))))
