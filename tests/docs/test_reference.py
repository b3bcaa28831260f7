"""Test that the generated reference is up to date."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from swecli.cli.flags import SUBCOMMANDS

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_licences_are_those_of_the_locked_packages() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/release/licences", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_manual_formats_without_warnings_and_contains_every_subcommand() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    page = ROOT / "docs" / "reference" / "swecli.1"
    done = subprocess.run(
        [groff, "-man", "-Tascii", "-ww", "-P-cbou", str(page)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"swecli {name}\n" in done.stdout for name in SUBCOMMANDS)
    assert "--max-budget-usd X" in done.stdout


def test_the_manual_is_installed_with_the_program() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]
    assert wheel["shared-data"] == {"docs/reference/swecli.1": "share/man/man1/swecli.1"}
