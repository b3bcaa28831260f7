"""Test finding the check that a command runs, its state, and the checks that it covers."""

from __future__ import annotations

import pytest

from swecli.playbook.learning.checks import Check, covers, find_check, find_succeeded

RED = "exit code 1\n1 failed, 9 passed in 2.1s"
FOUND = {
    ("python -m pytest -q", 0, "exit code 0\n"): Check("pytest -q", True),
    ("X=1 .venv/bin/python -m pytest -q 2>&1 | tail -40", 0, "exit code 0 (python 1, tail 0)\n"): Check(
        "pytest -q", False
    ),
    ("pytest -q | tail -5", 0, "exit code 0 (pytest 0, tail 0)\n1991 passed"): Check(
        "pytest -q", True
    ),
    ("pytest -q | tail -5", 0, "exit code 0\n1 failed, 3 passed in 2 s"): Check("pytest -q", False),
    ("pytest -q | tail -5", 0, "exit code 0\nsome text"): Check("pytest -q", None),
    ("cd tests && pytest -q | grep -c x | cat", 0, "exit code 0 (pytest 2, grep 0, cat 0)\n"): Check(
        "pytest -q", False
    ),
    ("ruff check . && git commit -m x && git log", 0, "exit code 0\n"): Check("ruff check .", True),
    ("ruff check . && git commit -m x", 1, "exit code 1\nrejected"): Check("ruff check .", None),
    ("ruff check . && mypy src", 1, "exit code 1\n"): Check("ruff check . && mypy src", False),
    ("pytest -q; ruff --version", 127, "exit code 127\n12 passed in 1 s\nnot found"): Check(
        "pytest -q && ruff --version", True
    ),
    ("pytest -q; echo done", 0, f"{RED}\ndone"): Check("pytest -q", False),
    ("pytest -q; echo 3 passed", 0, f"{RED}\n3 passed"): Check("pytest -q", False),
    ("runner --check; echo '3 passed'", 0, "3 passed"): Check("runner --check"),
    # a summary that lies: the status of the runner goes before it
    ("pytest -q", 1, "exit code 1\n12 passed in 1 s"): Check("pytest -q", False),
    ("pytest -q | tail -1", 0, "exit code 0 (pytest 1, tail 0)\n12 passed in 1 s"): Check("pytest -q", False),
    ("export A=1; pytest -q", 1, "exit code 1\n"): Check("pytest -q", False),
    ("python -m unittest; true", 0, "exit code 0\nRan 3 tests in 0.1s\n\nFAILED (failures=1)"): Check(
        "unittest", False
    ),
    ("python -m unittest; true", 0, "exit code 0\nRan 3 tests in 0.1s\n\nOK"): Check("unittest", True),
    # a run of no test, which is no failure in Python 3.11
    ("python -m unittest", 0, "exit code 0\n-----\nRan 0 tests in 0.000s\n\nOK"): Check("unittest", None),
    ("python -m unittest; true", 0, "exit code 0\nRan 0 tests in 0.000s\n\nOK"): Check("unittest", None),
    ("cat tests/test_a.py | head -3", 0, "exit code 0 (cat 0, head 0)\n"): Check(),
    ("pytest -k 'a | b; c'", 0, "exit code 0\n"): Check("pytest -k 'a | b; c'", True),
    ("git commit -m 'fix the tests'", 1, "exit code 1\n"): Check(),
    ("python - <<X\nimport unittest\nX", 0, "exit code 0\n"): Check(),
    ("python - <<X\nimport unittest", 0, "exit code 0\n"): Check(),
    ("cat > a.py <<'X'\nmake check\nX\npytest -q", 1, "exit code 1\n"): Check("pytest -q", False),
    ("pytest -q <<X 2>&1 | tail\n1\nX", 0, "exit code 0 (pytest 1, tail 0)\n"): Check("pytest -q", False),
    ("pytest -q <<< 1", 0, "exit code 0\n"): Check("pytest -q <<< 1", True),
}  # fmt: skip


@pytest.mark.parametrize(("command", "code", "output"), FOUND)
def test_a_check_is_found_behind_what_surrounds_it(command: str, code: int, output: str) -> None:
    assert find_check(command, code, output) == FOUND[command, code, output]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("pytest -q", "pytest -q tests/test_termui.py"),
        ("pytest", "pytest -q -k rate"),
        ("pytest tests", "pytest -x tests/unit/test_a.py::test_one"),
        ("pytest tests/a.py", "pytest tests/a.py::test_one"),
        ("cargo test", "cargo test parser"),
    ],
)
def test_a_wider_check_covers_a_narrower_one_and_not_the_reverse(wide: str, narrow: str) -> None:
    assert covers(wide, narrow)
    assert not covers(narrow, wide)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest -q", "pytest -q"),
        ("pytest -k slow", "pytest tests"),
        ("npm test", "npm run lint"),
        ("pytest tests/a", "pytest tests/ab.py"),
        ("ruff check . && mypy", "ruff check src"),
    ],
)
def test_other_checks_cover_nothing(one: str, other: str) -> None:
    assert not covers(one, other)
    assert not covers(other, one)


@pytest.mark.parametrize(
    ("command", "exit_code", "output", "succeeded"),
    [
        ("make check", 0, "", ["make check"]),
        ("make check", 2, "", []),
        ("make check", None, "", []),
        ("cd app && python3 -m pytest -q", 0, "", ["cd app", "pytest -q"]),
        ("cd app && pytest -q", 1, "", []),
        ("pytest -q; ls", 0, "", ["ls"]),
        ("pytest -q || true", 0, "", ["true"]),
        ("pytest -q | tail -5", 0, "exit code 0 (pytest 0, tail 0)\n", ["pytest -q", "tail -5"]),
        ("pytest -q | tail -5", 0, "exit code 0 (pytest 1, tail 0)\n", ["tail -5"]),
        ("pytest -q | tail -5", 0, "no statuses\n", []),
        ("cat <<E\nmake check\nE", 0, "", []),
    ],
)
def test_only_commands_that_succeeded_by_their_own_status_are_named(
    command: str, exit_code: int | None, output: str, succeeded: list[str]
) -> None:
    assert find_succeeded(command, exit_code, output) == succeeded
