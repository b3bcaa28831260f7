"""The cases of a live review (changes whose truth is known), and the rule by which a finding is a hit."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.benchmarks.rows import MeasuringError
from swecli.review.judge.grounding import smell_family
from swecli.review.judge.sources import Sources

FOLDER = Path(__file__).with_name("review_cases")
KINDS = {"problems": "problem", "harmless": "harmless", "clean": "clean"}
NEAR = 2  # lines


@dataclass(frozen=True, slots=True)
class Truth:
    """The one problem of a change: its lines in the changed file, the symbols around them, accepted families."""

    path: str
    ranges: tuple[tuple[int, int], ...]
    symbols: frozenset[str]
    families: frozenset[str]

    def is_hit(self, finding: Mapping[str, Any]) -> bool:
        """Return True for a finding in the same file, within two lines of the truth or in its symbol, whose type is of
        an accepted family or of none."""
        first, family = finding["line"], smell_family(finding["code_smell_type"])
        last = max(first, finding["end_line"] or first)
        near = any(first <= end + NEAR and last >= begin - NEAR for begin, end in self.ranges)
        placed = near or (finding["symbol"] and finding["symbol"] in self.symbols)
        return (
            finding["path"] == self.path
            and bool(placed)
            and (not family or family in self.families)
        )


@dataclass(frozen=True, slots=True)
class Case:
    """One change of a project. `kind` is problem, release (a bug fix reverted), harmless or clean; `row` is its row of
    cases.toml."""

    name: str
    kind: str
    project: str
    row: tuple[str, ...]

    def trees(self, cache: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Return the files before and after the change. Raises MeasuringError if a package cannot be downloaded."""
        if self.kind == "release":
            package, fixed, broken, path = self.row[:4]
            before = _download(package, fixed, path.endswith(".js"), cache)
            return before, before | {
                path: _download(package, broken, path.endswith(".js"), cache)[path]
            }
        path, old, new = self.row[:3]
        before = {
            file.name: file.read_bytes() for file in sorted((FOLDER / self.project).iterdir())
        }
        return before, before | {path: before[path].replace(old.encode(), new.encode())}

    def truth(self, root: Path) -> Truth | None:
        """Return the truth of the change that is checked out at `root`, None if nothing is wrong with it."""
        if self.kind not in ("problem", "release"):
            return None
        path, families = (
            (self.row[3], self.row[5]) if self.kind == "release" else (self.row[0], self.row[3])
        )
        source = Sources(root).get(path)
        if self.kind == "release":
            pairs = [place.partition("-") for place in self.row[4].split()]
            ranges = tuple((int(begin), int(end or begin)) for begin, _, end in pairs)
        else:
            line = next(n for n, text in enumerate(source.lines, 1) if self.row[2] in text)
            ranges = ((line, line),)
        symbols = {source.symbol_at(begin).name for begin, _ in ranges} - {""}
        return Truth(path, ranges, frozenset(symbols), frozenset(families.split()))


def load_cases() -> list[Case]:
    """Return all cases, the kinds mixed evenly, so that the first N are a sample of all."""
    tables = tomllib.loads((FOLDER / "cases.toml").read_text(encoding="utf-8"))
    by_kind: dict[str, list[Case]] = {"problem": [], "release": [], "harmless": [], "clean": []}
    for project, kinds in tables.items():
        for plural, rows in kinds.items():
            kind = "release" if project == "releases" else KINDS[plural]
            for number, row in enumerate(rows, 1):
                name = f"{row[0]}-{row[2]}" if kind == "release" else f"{project}-{kind}-{number}"
                by_kind[kind].append(Case(name, kind, project, tuple(row)))
    placed = [
        (n / len(cases), case) for cases in by_kind.values() for n, case in enumerate(_mixed(cases))
    ]
    return [case for _, case in sorted(placed, key=lambda pair: pair[0])]


def _mixed(cases: list[Case]) -> list[Case]:
    """Alternate between the projects."""
    projects = {
        case.project: [one for one in cases if one.project == case.project] for case in cases
    }
    longest = max(map(len, projects.values()))
    return [own[n] for n in range(longest) for own in projects.values() if n < len(own)]


def _download(package: str, release: str, npm: bool, cache: Path) -> dict[str, bytes]:
    """Return the files of a release, downloaded by its registry's client unless cached. None of its code is run."""
    folder = cache / f"{package}-{release}"
    if not (archives := sorted([*folder.glob("*.whl"), *folder.glob("*.tgz")])):
        folder.mkdir(parents=True, exist_ok=True)
        _run_client(package, release, "npm" if npm else "pip", folder)
        archives = sorted([*folder.glob("*.whl"), *folder.glob("*.tgz")])
    return _read_archive(archives[0])


_failed = dict[str, str]()  # per client, so that a missing release is requested once


def _run_client(package: str, release: str, client: str, folder: Path) -> None:
    pip = (
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--retries",
        "1",
    )
    commands = {
        "pip": (*pip, "-d", str(folder), f"{package}=={release}"),
        "npm": (
            shutil.which("npm") or "npm",
            "pack",
            "-s",
            "--fetch-retries=1",
            f"{package}@{release}",
        ),
    }
    if client not in _failed:
        try:
            done = subprocess.run(
                commands[client],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=120,
                stdin=subprocess.DEVNULL,
            )
            if not done.returncode:
                return
            why = (done.stderr.strip() or done.stdout.strip() or "it failed").splitlines()[-1]
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        _failed[client] = f"{client} cannot download {package} {release}: {why[:200]}"
    raise MeasuringError(_failed[client])


def _read_archive(archive: Path) -> dict[str, bytes]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            names = [
                name
                for name in wheel.namelist()
                if ".dist-info/" not in name and not name.endswith("/")
            ]
            return {name: wheel.read(name) for name in names if ".." not in Path(name).parts}
    files = dict[str, bytes]()
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as package:
        for member in package.getmembers():
            name, file = (
                Path(*Path(member.name).parts[1:]),
                package.extractfile(member) if member.isfile() else None,
            )
            if file is not None and ".." not in name.parts:
                files[name.as_posix()] = file.read()
    return files
