"""Whether what a bullet names exists: in the workspace, on the PATH, among the tools; no model is asked."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from swecli.models.playbook import Bullet
from swecli.playbook.anchors import anchors_of

_MOST_ENTRIES = 20_000  # of the workspace that are looked at for a bare file name
LARGEST = 1_000_000  # bytes of a Makefile or package.json that is read
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".tox", "target", "dist"})
_OWN_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
_SHELL = """
    . : [ alias bg cd command echo env eval exec exit export fg jobs kill local nice printf pushd popd pwd read return
    set shift source sudo test time timeout trap true false type ulimit umask unset wait
"""
SHELL = frozenset(_SHELL.split())
_PARTS = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_BEFORE = re.compile(r"^(?:(?:[A-Za-z_]\w*=\S*|sudo|time|nice|command|exec|env)\s+)+")
_TARGET = re.compile(r"^([A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+)*)[ \t]*::?(?!=)", re.MULTILINE)
_NAME = re.compile(r"[\w:.-]+")
_PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_ALWAYS_THERE = frozenset({"install", "add", "ci", "exec", "remove", "init", "dlx", "create", "update", "i", "publish"})


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a look at a bullet's anchors showed. `found` counts those that exist; nothing is said of the others.
    `missing` is the reason why it is stale, "" when it is not. Only `fresh` is a verification: a bullet without an
    anchor that can be looked up was not verified, and reading one never is."""

    found: int = 0
    missing: str = ""

    @property
    def fresh(self) -> bool:
        """Whether something it names was looked for and all of that is here."""
        return self.found > 0 and not self.missing


@dataclass(frozen=True)
class WorkspaceLookup:
    """A workspace, as far as bullets name it; paths are relative to `root`, what is not there is looked for `above`
    too. `far`: look through all of it for a bare file name that is not at its top; else nothing is said of it. What was
    looked up is remembered: make one for each look."""

    root: Path
    search_path: str = ""
    tools: Collection[str] = ()
    above: Path | None = None
    far: bool = True
    _programs: dict[str, bool] = field(default_factory=dict, repr=False)

    def freshness(self, bullet: Bullet) -> Freshness:
        """Look up what a bullet names: its anchors and those that its words hold."""
        return self.of(bullet.anchors or anchors_of(bullet.content, self.tools))

    def of(self, anchors: Iterable[str]) -> Freshness:
        """Look up anchors; the first that is missing ends it."""
        found = 0
        for anchor in anchors:
            kind, _, value = anchor.partition(":")
            look = {"path": self._path, "command": self._command, "tool": self._tool}.get(kind)
            answer = look(value) if look and value.strip() else None
            if answer:
                return Freshness(found, answer)
            found += answer == ""
        return Freshness(found)

    # Each of these: "" when it is here, None when that is unknown, else what is missing.

    def _path(self, value: str) -> str | None:
        if value.startswith("~") or "$" in value:
            return None
        firm = re.split(r"[^/]*[*?\[]", value)[0]
        if not firm:
            return None
        try:
            if any((root / firm).exists() for root in self._roots):
                return ""
        except (OSError, ValueError):
            return None
        if "/" not in firm.strip("/") and firm == value:
            names = self._names
            if names is None or firm.rstrip("/") in names:
                return None if names is None else ""
        return f"{value} is not here"

    def _command(self, value: str) -> str | None:
        parts = [_BEFORE.sub("", part) for part in _PARTS.split(value)]
        answers = [self._part(part.split(), at_root="cd " not in value) for part in parts if part.strip()]
        missing = next((answer for answer in answers if answer), None)
        return missing if missing else ("" if "" in answers else None)

    def _part(self, words: list[str], at_root: bool) -> str | None:
        program, *rest = words
        if program in SHELL or not re.fullmatch(r"[\w./+-]+", program):
            return None
        if "/" in program:
            return self._path(program.removeprefix("./")) if at_root else None
        if not self._has_program(program):
            return f"there is no command {program} here"
        if not at_root:
            return ""
        answers = [_of_make(r, rest) if program == "make" else _of_package(r, program, rest) for r in self._roots]
        return "" if "" in answers else answers[-1]

    @property
    def _roots(self) -> tuple[Path, ...]:
        return (self.root,) if self.above is None else tuple(dict.fromkeys((self.root, self.above)))

    def _tool(self, value: str) -> str | None:
        if not self.tools:
            return None
        return "" if value in self.tools else f"there is no tool {value}"

    def _has_program(self, name: str) -> bool:
        if name not in self._programs:
            own = os.pathsep.join(str(root / folder) for root in self._roots for folder in _OWN_PROGRAMS)
            self._programs[name] = shutil.which(name, path=f"{own}{os.pathsep}{self.search_path}") is not None
        return self._programs[name]

    @cached_property
    def _names(self) -> frozenset[str] | None:
        """The names of all files and folders; None when there are too many to look at, or none is to be."""
        if not self.far:
            return None
        names = set[str]()
        for _, folders, files in os.walk(self._roots[-1]):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            names.update(folders, files)
            if len(names) > _MOST_ENTRIES:
                return None
        return frozenset(names)


def _of_make(root: Path, words: list[str]) -> str:
    """Whether a Makefile has the targets; "" where it includes others, is run elsewhere, or has rules for any name."""
    files = [root / name for name in ("GNUmakefile", "makefile", "Makefile")]
    text = next((text for text in map(_read, files) if text is not None), None)
    targets = [word for word in words if not word.startswith("-") and "=" not in word]
    if any(word.startswith(("-C", "-f", "--directory", "--file")) for word in words) or not targets:
        return ""
    if text is None:
        return "there is no Makefile here"
    if re.search(r"^-?include\b|^[^#\t\n]*%.*:", text, re.MULTILINE):
        return ""
    known = {name for match in _TARGET.finditer(text) for name in match[1].split()}
    missing = [target for target in targets if target not in known and not (root / target).is_file()]
    return f"the Makefile has no target {missing[0]}" if missing else ""


def _of_package(root: Path, program: str, words: list[str]) -> str:
    """Whether package.json has the script that npm and the like are to run."""
    named = [word for word in words if not word.startswith("-")]
    if (
        program not in _PACKAGE_MANAGERS
        or not named
        or any(word in ("-C", "--prefix", "-w", "--filter") for word in words)
    ):
        return ""
    script = named[1] if named[0] == "run" and len(named) > 1 else named[0] if named[0] in ("test", "start") else ""
    if not script or script in _ALWAYS_THERE or not _NAME.fullmatch(script):
        return ""
    text = _read(root / "package.json")
    if text is None:
        return "there is no package.json here"
    return "" if script in _scripts(text) else f"package.json has no script {script}"


def _scripts(text: str) -> Mapping[str, Any]:
    try:
        scripts = json.loads(text).get("scripts")
    except (ValueError, AttributeError):
        return {}
    return scripts if isinstance(scripts, dict) else {}


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:LARGEST] if path.is_file() else None
    except OSError:
        return None
