"""Command lines taken apart, and what their results say."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.playbook.commands import covers, misused, parse, passed, same_family
from swecli.playbook.digest import CallDigest


def run(command: str, exit_code: int | None = 0, head: str = "", **more: Any) -> CallDigest:
    fields = {"ok": exit_code == 0, "exit_code": exit_code, "head": head} | more
    return CallDigest("c1", "run_command", {"command": command}, **fields)


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest", "pytest"),
        ("pytest -q tests/a.py", "pytest"),
        ("python -m pytest -q", "pytest"),
        ("python3.11 -m pytest", "pytest"),
        (".venv/bin/python -m pytest -q", "pytest"),
        (".venv/bin/pytest", "pytest"),
        ("cd app && pytest -q", "pytest"),
        ("PYTHONPATH=. FOO='a b' pytest", "pytest"),
        ("uv run pytest", "pytest"),
        ("timeout 60 pytest -x", "pytest"),
        ("pytest -q 2>&1 | tail -5", "pytest"),
        ("python -m unittest discover", "unittest"),
        ("npm test", "npm test"),
        ("npm run test:unit", "npm test"),
        ("npx jest src", "jest"),
        ("go test ./...", "go test"),
        ("cargo test --lib", "cargo test"),
        ("make check", "make test"),
        ("make -j4 test", "make test"),
        ("./gradlew test", "mvn test"),
        ("./scripts/test", "test script"),
        ("bash run_tests.sh", "test script"),
        ("tox -e py311", "tox"),
        ("python app.py", ""),
        ("make build", ""),
        ("npm install", ""),
        ("grep pytest setup.cfg", ""),
        ("cat tests/a.py", ""),
        ("", ""),
    ],
)
def test_test_runners_are_recognised(command: str, runner: str) -> None:
    assert parse(command).runner == runner


def test_the_same_work_has_one_key() -> None:
    assert parse("cd app && FOO=1  pytest -q").key == parse("pytest   -q").key
    assert parse("pytest -q").key != parse("pytest -x").key


def test_programs_are_compared_by_name_or_by_kind_of_tests() -> None:
    assert same_family(parse("pytest"), parse("python -m pytest -q"))
    assert same_family(parse("git push"), parse("git push -u origin x"))
    assert not same_family(parse("ls"), parse("git status"))
    assert not same_family(parse(""), parse(""))


def test_a_wider_test_run_covers_a_narrower_one() -> None:
    assert covers(parse("pytest -q"), parse("pytest tests/a.py"))
    assert covers(parse("pytest tests/a.py tests/b.py"), parse("pytest tests/a.py"))
    assert not covers(parse("pytest tests/a.py"), parse("pytest"))
    assert not covers(parse("pytest tests/b.py"), parse("pytest tests/a.py"))


def test_exit_codes_decide() -> None:
    assert passed(run("pytest")) is True
    assert passed(run("pytest", 1)) is False
    assert passed(run("python app.py", 2)) is False


def test_an_exit_code_that_is_an_answer_is_no_failure() -> None:
    assert passed(run("grep -r foo .", 1)) is None
    assert passed(run("git diff --quiet", 1)) is False
    assert passed(run("grep foo missing", 2)) is False


def test_behind_a_pipe_the_output_decides() -> None:
    assert passed(run("pytest | tail -3", 0, "2 failed, 3 passed in 1s")) is False
    assert passed(run("pytest -q || true", 0, "5 passed in 1s")) is True
    assert passed(run("pytest -q; echo done", 0, "…")) is None


def test_interrupted_and_refused_commands_say_nothing() -> None:
    assert passed(run("pytest", None, finished=False)) is None
    assert passed(run("pytest", None, denied=True)) is None
    assert passed(CallDigest("c", "read_file", {"path": "a"})) is None


@pytest.mark.parametrize(
    ("command", "code", "output", "label"),
    [
        ("pytset", 127, "", "command not found"),
        ("pytest", 1, "/bin/sh: pytest: command not found", "command not found"),
        ("python -m pytest", 1, "No module named pytest", "missing module"),
        ("pytest --quiett", 4, "error: unrecognized arguments: --quiett", "unknown option"),
        ("npm run tests", 1, 'npm ERR! missing script: "tests"', "unknown target"),
        ("make tests", 2, "make: *** No rule to make target 'tests'", "unknown target"),
        ("python app.py", 2, "usage: app.py [-h] name", "wrong usage"),
        ("pytest test/", 4, "ERROR: file or directory not found: test/", "no such file"),
        ("pytest -k nothing", 5, "no tests ran in 0.01s", "no tests found"),
        ("pytest", 1, "1 failed, 3 passed", ""),
        ("pytest", 0, "usage: nothing", ""),
    ],
)
def test_a_wrong_command_is_told_from_a_found_fault(command: str, code: int, output: str, label: str) -> None:
    assert misused(run(command, code, output)) == label
