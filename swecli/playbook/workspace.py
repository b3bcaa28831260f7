"""Where a session works, as far as strategies speak of it: what exists there, and what its instructions say anyway."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.models.learning_events import PlaybookUpdated
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.playbook.anchors import anchors_of

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.store.session_manager import SessionManager

_MOST_ENTRIES = 20_000  # of the workspace that are looked at for a bare file name
_LARGEST = 1_000_000  # bytes of a Makefile or package.json that is read
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".tox", "target", "dist"})
_OWN_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
_SHELL_WORDS = """
    . : [ alias bg cd command echo env eval exec exit export fg jobs kill local nice printf pushd popd pwd read return
    set shift source sudo test time timeout trap true false type ulimit umask unset wait
"""
_SHELL = frozenset(_SHELL_WORDS.split())
_PARTS = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_BEFORE = re.compile(r"^(?:(?:[A-Za-z_]\w*=\S*|sudo|time|nice|command|exec|env)\s+)+")
_TARGET = re.compile(r"^([A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+)*)[ \t]*::?(?!=)", re.MULTILINE)
_NAME = re.compile(r"[\w:.-]+")
_PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_ALWAYS_THERE = frozenset({"install", "add", "ci", "exec", "remove", "init", "dlx", "create", "update", "i", "publish"})
_NAMED = 3  # strategies, where one thing is gone for many


@dataclass(frozen=True, slots=True)
class Workspaces:
    """What can be looked up without a model. `search_path` is the variable PATH; `instructions` gives what a prompt
    says anyway: the system prompt and the project's own files, as they are now."""

    search_path: str
    instructions: Callable[[], str] = lambda: ""

    def lookup(self, session: Session, *, far: bool = True) -> WorkspaceLookup | None:
        """A new look at where a session works; None where that directory is gone: then nothing is known. See
        `WorkspaceLookup` for `far`."""
        root = Path(session.working_directory)
        if not session.working_directory or not root.is_dir():
            return None
        above = Path(session.project) if session.project else root
        return WorkspaceLookup(root, self.search_path, above, far)


async def check_anchors(sessions: SessionManager, session: Session, workspaces: Workspaces) -> PlaybookUpdated | None:
    """Look, beside the prompt, for what the strategies of this project name, and keep what is found; the event says
    which are stale now and were not. Raises StoreError."""
    bullets = dict(session.playbook.bullets)
    lookup = workspaces.lookup(session)
    wanted = [bullet for bullet in bullets.values() if bullet.live and bullet.scope != "user"]
    if lookup is None or not wanted:
        return None
    looked = await asyncio.to_thread(lambda: {bullet.id: lookup.missing(bullet) for bullet in wanted})
    stale = {name: missing for name, missing in looked.items() if missing}
    sessions.playbook.verify(session, stale, [name for name, missing in looked.items() if missing == ""])
    new = {name: why for name, why in stale.items() if not bullets[name].stale}
    pinned = {name: why for name, why in new.items() if bullets[name].state == "pinned"}
    others = {name: why for name, why in new.items() if name not in pinned}
    lines = (
        *_stale_lines(others, "out of prompts"), *_stale_lines(pinned, "in prompts all the same, being pinned"),
    )  # fmt: skip
    return PlaybookUpdated(session.interactions, "", lines) if lines else None


@dataclass(slots=True)
class StaleStrategies:
    """Finds, among strategies that are to stand in a prompt, those that name something that was here and is gone. What
    was found stays in `found` until a turn has reported it."""

    workspaces: Workspaces | None = None
    found: dict[str, str] = field(default_factory=dict)
    _sessions: set[str] = field(default_factory=set)
    _fresh: set[str] = field(default_factory=set)

    def among(self, session: Session, bullets: Iterable[Bullet]) -> dict[str, str]:
        """The stale ones by id, with what is gone: only what is quickly looked up, but for the first time in a session.
        What never was here was taught nevertheless, and is not found out by this."""
        far = bool(self._sessions) and session.id not in self._sessions
        self._sessions.add(session.id)
        lookup = self.workspaces.lookup(session, far=far) if self.workspaces else None
        stale: dict[str, str] = {}
        for bullet in bullets if lookup else ():
            if lookup is None or bullet.scope == "user" or bullet.state == "pinned" or bullet.stale:
                continue
            missing = lookup.missing(bullet)
            if missing == "":
                self._fresh.add(bullet.id)
            elif missing and (bullet.verified_at is not None or bullet.id in self._fresh):
                stale[bullet.id] = missing
        self.found |= stale
        return stale

    def notices(self) -> list[str]:
        """Lines for the user on what was found."""
        return list(_stale_lines(self.found, "out of prompts"))


def _stale_lines(stale: Mapping[str, str], where: str) -> Iterator[str]:
    """A line for each thing that is gone, with the strategies that name it."""
    for why in dict.fromkeys(stale.values()):
        names = [name for name, reason in stale.items() if reason == why]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        verb = "is stale and stays" if len(names) == 1 else "are stale and stay"
        yield f"{', '.join(names[:_NAMED])}{more} {verb} {where}: {why}"


@dataclass(frozen=True)
class WorkspaceLookup:
    """A workspace, as far as bullets name it: paths below `root`, else `above`; `far`: also a bare file name anywhere
    in it. What was looked up is remembered: make one for each look."""

    root: Path
    search_path: str = ""
    above: Path | None = None
    far: bool = True
    _programs: dict[str, bool] = field(default_factory=dict, repr=False)

    def missing(self, bullet: Bullet) -> str | None:
        """What a bullet names, in its anchors or else in its words, that is not here; "" where something was looked for
        and all of that is here, None where nothing can be looked up: reading one is no verification."""
        return self.of(bullet.anchors or anchors_of(bullet.content))

    def of(self, anchors: Iterable[str]) -> str | None:
        """The same of anchors; the first that is missing ends it."""
        found = None
        for anchor in anchors:
            kind, _, value = anchor.partition(":")
            look = {"path": self._path, "command": self._command}.get(kind)
            answer = look(value) if look and value.strip() else None
            if answer:
                return answer
            found = answer if found is None else found
        return found

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
        if program in _SHELL or not re.fullmatch(r"[\w./+-]+", program):
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
        return path.read_text(encoding="utf-8", errors="replace")[:_LARGEST] if path.is_file() else None
    except OSError:
        return None
