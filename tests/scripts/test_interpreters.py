"""Test finding the Pythons of a machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.interpreters import (
    Interpreter,
    find_interpreters,
    newest_other,
    oldest_and_newest,
    promised_versions,
)


def python(version: str, *, has_venv: bool = True) -> Interpreter:
    major, minor, patch = map(int, version.split("."))
    return Interpreter((major, minor, patch), Path("/somewhere"), has_venv)


def versions(*interpreters: Interpreter) -> list[str]:
    return [".".join(map(str, one.version)) for one in interpreters]


def test_the_python_that_runs_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("bin").absolute()
    folder.mkdir()
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for name in ("python3", f"python{minor}"):
        (folder / name).symlink_to(Path(sys.executable).resolve())
    monkeypatch.setenv("PATH", f"{folder}:{folder}")
    found = [one for one in find_interpreters() if one.version == sys.version_info[:3]]
    assert len(found) == 1
    assert found[0].minor == minor
    assert found[0].minor in promised_versions()


def test_what_is_no_python_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("bin").absolute()
    folder.mkdir()
    broken = folder / "python3.13"
    broken.write_text("#!/bin/sh\necho 'python3.13: command not found' >&2\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    assert all(one.path != broken for one in find_interpreters())


def test_the_newest_other_one_is_of_another_minor_version_and_can_make_an_environment() -> None:
    all_of_them = [
        python("3.11.2"),
        python("3.11.9"),
        python("3.12.4"),
        python("3.13.1", has_venv=False),
    ]
    other = newest_other(all_of_them, "3.11")
    assert other is not None
    assert versions(other) == ["3.12.4"]
    assert newest_other(all_of_them[:2], "3.11") is None


def test_the_oldest_and_the_newest_of_each_minor_version_are_chosen() -> None:
    found = [python(name) for name in ("3.11.9", "3.11.2", "3.12.1", "3.11.7", "3.13.0", "3.13.4")]
    chosen = oldest_and_newest(found)
    assert versions(*chosen) == ["3.11.2", "3.11.9", "3.12.1", "3.13.0", "3.13.4"]
