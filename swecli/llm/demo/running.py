"""Plans that run commands, above all the project's tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from swecli.llm.demo.bullets import test_command
from swecli.llm.demo.intents import Run, RunAgain, RunTests
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.steps import Plan, one
from swecli.llm.demo.texts import fenced
from swecli.llm.demo.view import View

MOST_LINES = 30
_TELLING = re.compile(
    r"error|fail|assert|exception|traceback|not found|no such|denied|cannot|^E\s|panic|✗|✖", re.IGNORECASE
)
_PYTHON = re.compile(r"^(?:pytest|py\.test|python|pip)\b")
_MARKERS = (
    ("scripts/test", "./scripts/test"),
    ("script/test", "./script/test"),
    ("package.json", "npm test"),
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("pytest.ini", "python3 -m pytest -q"),
    ("pyproject.toml", "python3 -m pytest -q"),
    ("setup.cfg", "python3 -m pytest -q"),
    ("tox.ini", "python3 -m pytest -q"),
    ("tests/", "python3 -m pytest -q"),
    ("Makefile", "make test"),
)
_SUITES = frozenset({"./scripts/test", "./script/test", "npm test", "make test"})


def run(intent: Run, view: View) -> Plan:
    """Run a command and tell how it ended; one that is not installed is tried as a Python module."""
    outcome = yield from one(f"Running `{intent.command}`.", "run_command", command=intent.command)
    other = _other_way(intent.command, outcome)
    if other:
        again = yield from one(f"`{intent.command}` cannot be started: trying `{other}`.", "run_command", command=other)
        return f"`{intent.command}` could not be started here. {report(other, again)}"
    return report(intent.command, outcome)


def run_again(intent: RunAgain, view: View) -> Plan:
    """Run the last command of the window once more."""
    command = view.last_command()
    if not command:
        return "I see no earlier command in what was sent to me. Name it: run `…`"
    return (yield from run(Run(command), view))


def tests(intent: RunTests, view: View) -> Plan:
    """Run the tests: the way the playbook tells, else the way the project's files suggest."""
    known = test_command(view.notes)
    if known:
        command, note = known
        answer = yield from run(Run(_aimed(command, intent.target)), view)
        return f"{answer}\n\nThe playbook told me the command [{note.id}]."
    listing = yield from one("Looking how this project is tested.", "list_files", path=".", depth=2)
    if not listing.ok:
        return f"I could not look at this folder: {listing.first_line()}"
    command = suggested(listing.entries())
    if not command:
        return (
            "I see no sign of how this project is tested (no scripts/test, no tests folder, no known "
            "manifest). Say: run `…`"
        )
    outcome = yield from one(
        f"Running `{_aimed(command, intent.target)}`.", "run_command", command=_aimed(command, intent.target)
    )
    if "No module named pytest" in outcome.text:
        other = "python3 -m unittest discover" + (f" -s {shlex.quote(intent.target)}" if intent.target else "")
        again = yield from one(f"pytest is not installed here: trying `{other}`.", "run_command", command=other)
        return f"pytest is not installed here. {report(other, again)}"
    return report(_aimed(command, intent.target), outcome)


def suggested(entries: Sequence[str]) -> str:
    """The test command that the files of the first two levels suggest, "" for none."""
    there = set(entries) | {name.rstrip("/") for name in entries}
    for name, command in _MARKERS:
        if name.rstrip("/") in there:
            return command
    return "python3 -m pytest -q" if any(re.search(r"(?:^|/)test_\w+\.py$", name) for name in entries) else ""


def _aimed(command: str, target: str) -> str:
    return f"{command} {shlex.quote(target)}" if target and command not in _SUITES else command


def _other_way(command: str, outcome: Outcome) -> str:
    """The same Python tool by way of `python3 -m`, when the command as given was not found."""
    if outcome.exit_code != 127 or not _PYTHON.match(command):
        return ""
    if command.startswith("python "):
        return "python3" + command.removeprefix("python")
    return "" if command.startswith("python3") else f"python3 -m {command.replace('py.test', 'pytest')}"


def report(command: str, outcome: Outcome) -> str:
    """How a command ended, with its last lines, or with those that tell why it failed."""
    output = outcome.output()
    if outcome.exit_code is None:
        return f"`{command}` did not run to its end: {outcome.first_line()}"
    shown = f":\n{fenced(output, MOST_LINES)}" if output else ", without output."
    if outcome.exit_code == 0:
        tail = "\n".join(output.split("\n")[-MOST_LINES:])
        return (
            f"`{command}` "
            f"succeeded{f':{chr(10)}{fenced(tail, MOST_LINES)}' if output else ', without output.'}{outcome.remark()}"
        )
    lines = output.split("\n")
    telling = [line for line in lines if _TELLING.search(line)]
    if len(lines) > MOST_LINES and telling:
        return (
            f"`{command}` failed with exit code {outcome.exit_code}. The telling "
            f"lines:\n{fenced(chr(10).join(telling[-MOST_LINES:]), MOST_LINES)}"
        )
    return f"`{command}` failed with exit code {outcome.exit_code}{shown}"
