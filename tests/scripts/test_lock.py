"""Test that each Python that swecli promises to run on can install what the locks name."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "scripts" / "lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def promised_versions() -> list[str]:
    """Return the minor versions of Python that the metadata names, such as "3.11"."""
    prefix = "Programming Language :: Python :: "
    return [row.removeprefix(prefix) for row in PROJECT["classifiers"] if row.startswith(prefix)]


def test_the_oldest_promised_python_is_the_one_that_is_required() -> None:
    assert PROJECT["requires-python"] == f">={promised_versions()[0]}"


@pytest.mark.parametrize("minor", promised_versions())
def test_the_first_release_of_each_promised_python_can_install_every_locked_package(
    minor: str,
) -> None:
    """Later releases of a package may need a later release of Python, as 3.11.5; Debian 12 has 3.11.2."""
    problems = []
    for name, version in LOCKED.findall((LOCKS / "dev.txt").read_text()):
        try:
            package = distribution(name)
        except PackageNotFoundError:
            pytest.fail(f"{name} is not installed: run scripts/setup dev")
        assert package.version == version, "run scripts/setup dev"
        needed = ",".join(package.metadata.get_all("Requires-Python") or [])
        if not SpecifierSet(needed).contains(f"{minor}.0"):
            problems.append(f"{name} {version} needs Python {needed}")
    assert problems == [], "run scripts/lock/remake"


def test_the_lock_of_a_run_is_part_of_that_of_development() -> None:
    run = LOCKED.findall((LOCKS / "run.txt").read_text())
    dev = LOCKED.findall((LOCKS / "dev.txt").read_text())
    assert set(run) <= set(dev)
