"""Test `scripts/setup` with a lock of one small package, from a folder in place of a registry."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.shell import ROOT

pytestmark = pytest.mark.slow
VERSION = ".".join(map(str, sys.version_info[:3]))


def write_wheel(folder: Path) -> Path:
    """Write a wheel of a package without code."""
    file = folder / "thing-1.0-py3-none-any.whl"
    info = "thing-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file


@dataclass
class Copy:
    """A copy of the repository as far as the set-up needs it, whose lock names `thing` alone."""

    folder: Path
    registry: str

    def set_up(self, *arguments: str, **environ: str) -> tuple[int, str]:
        """Run the script with this Python alone on the PATH; return its exit code and what it says."""
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PIP_", "PYTHON"))
        }
        bin_folder = self.folder / "bin"
        env |= {"PATH": f"{bin_folder}:/usr/bin:/bin", "PIP_CONFIG_FILE": os.devnull}
        env |= {"PIP_INDEX_URL": self.registry, "PIP_RETRIES": "1", "PIP_TIMEOUT": "2"}
        command = [str(self.folder / "scripts" / "setup"), *arguments]
        done = subprocess.run(
            command, env=env | environ, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    folder = tmp_path / "copy"
    (folder / "scripts" / "lock").mkdir(parents=True)
    (folder / "swecli").mkdir()
    for name in ("scripts/setup", "scripts/swecli", "swecli/__init__.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    registry = tmp_path / "registry"
    (registry / "thing").mkdir(parents=True)
    wheel = write_wheel(registry / "thing")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for kind in ("run", "dev"):
        lock = folder / "scripts" / "lock" / f"{kind}.txt"
        lock.write_text(f"--only-binary :all:\n\nthing==1.0 \\\n    --hash=sha256:{digest}\n")
    (registry / "thing" / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    # the names of other Pythons lead nowhere, so that none of the machine is taken
    scripts = dict.fromkeys(("python3.11", "python3.12", "python3.13", "python3.14"), "exit 1")
    scripts["python3"] = f'exec "{sys.executable}" "$@"'
    for name, line in scripts.items():
        (bin_folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (bin_folder / name).chmod(0o755)
    return Copy(folder, registry.as_uri())


def test_the_environment_is_made_once_and_in_the_named_folder(copy: Copy) -> None:
    code, said = copy.set_up("run")
    assert code == 0, said
    assert said.startswith(f"swecli: setting up once with Python {VERSION}: 1 packages")
    assert copy.set_up("run") == (0, "")
    assert copy.set_up("dev", ".venv.other")[0] == 0
    assert (copy.folder / ".venv.other" / "bin" / "python").exists()
    assert copy.set_up("run") == (0, ""), "the other one is of no concern to it"


def test_a_developer_is_offered_the_check_of_each_commit_once_the_environment_is_made(
    copy: Copy,
) -> None:
    offer = (
        "swecli: to check each commit before it is made: git config core.hooksPath scripts/hooks\n"
    )
    assert offer not in copy.set_up("dev", ".venv.no-git")[1]
    subprocess.run(["git", "init", "-q", str(copy.folder)], check=True)
    assert copy.set_up("dev")[1].endswith(offer)
    assert copy.set_up("dev") == (0, "")
    assert offer not in copy.set_up("run", ".venv.user")[1]
    setting = ("config", "core.hooksPath", "scripts/hooks")
    subprocess.run(["git", "-C", str(copy.folder), *setting], check=True)
    assert offer not in copy.set_up("dev", ".venv.set")[1]


def test_the_python_can_be_chosen(copy: Copy) -> None:
    (copy.folder / "bin" / "python3").unlink()
    code, said = copy.set_up("run", SWECLI_PYTHON=sys.executable)
    assert code == 0, said
    own = copy.folder / ".venv" / "bin" / "python"
    assert copy.set_up("run", SWECLI_PYTHON=str(own)) == (0, ""), "it is one of that Python"
    (copy.folder / ".venv" / ".made-from-run").unlink()
    code, said = copy.set_up("run", SWECLI_PYTHON=str(own))
    assert code == 0, said
    code, said = copy.set_up("run", SWECLI_PYTHON="python3.99")
    assert (code, said) == (
        1,
        "swecli: SWECLI_PYTHON is python3.99, which is no Python 3.11 or newer. Name another one, or unset it.\n",
    )


def test_a_package_that_needs_another_python_is_named_with_what_it_needs(copy: Copy) -> None:
    index = copy.folder.parent / "registry" / "thing" / "index.html"
    index.write_text(index.read_text().replace("<a ", '<a data-requires-python="&gt;=3.99.5" '))
    code, said = copy.set_up("run")
    assert code == 1
    assert said.splitlines()[-1] == (
        f"swecli: thing==1.0 does not fit Python {VERSION}: it needs >=3.99.5."
        " Name another Python in SWECLI_PYTHON, then start again."
    )
    assert not (copy.folder / ".venv").exists()


def test_a_package_without_a_file_for_this_machine_is_named(copy: Copy) -> None:
    folder = copy.folder.parent / "registry" / "thing"
    (folder / "index.html").write_text('<a href="thing-1.0-cp311-cp311-win32.whl">thing</a>')
    code, said = copy.set_up("run")
    assert code == 1
    assert f"no file of thing==1.0 fits Python {VERSION} on this machine" in said


def test_a_registry_that_does_not_answer_is_a_fault_of_the_network(copy: Copy) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nothing listens there
        copy.registry = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        code, said = copy.set_up("run")
    assert code == 1
    assert "the package registry cannot be reached" in said
    assert "127.0.0.1" not in said
