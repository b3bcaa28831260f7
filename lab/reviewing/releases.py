"""Makes a repository whose last commit is the change between two neighbouring releases of a package."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Literal, NamedTuple

_GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


class Releases(NamedTuple):
    """Two releases of a package, and the message of the commit between them."""

    kind: Literal["npm", "pypi"]
    package: str
    base: str
    head: str
    message: str = "x"

    def make_repository(self, folder: Path) -> Path:
        """Download both releases below a folder, and return the repository."""
        base = self._download(self.base, folder)
        subprocess.run(["git", "init", "-q"], cwd=base, check=True)
        _commit(base, self.base)
        head = self._download(self.head, folder)
        (base / ".git").rename(head / ".git")
        _commit(head, self.message)
        return head

    def _download(self, version: str, folder: Path) -> Path:
        """Return the folder with the files of a release."""
        into = folder / version
        into.mkdir()
        command = ["npm", "pack", "--silent", f"{self.package}@{version}"]
        if self.kind == "pypi":
            options = ["--quiet", "--no-deps", "--no-binary", ":all:"]
            command = [sys.executable, "-m", "pip", "download", *options]
            command.append(f"{self.package}=={version}")
        quiet = subprocess.DEVNULL
        subprocess.run(command, cwd=into, check=True, stdout=quiet, stderr=quiet)
        [archive] = into.glob("*.t*gz")
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")
        archive.unlink()
        [top] = into.iterdir()
        return top


def _commit(root: Path, message: str) -> None:
    for words in (("add", "-A", "-f"), ("commit", "-qm", message)):
        subprocess.run([*_GIT, *words], cwd=root, check=True)
