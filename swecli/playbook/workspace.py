"""Where a session works, as far as strategies speak of it: what exists there, and what its instructions say anyway."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.playbook import Bullet
from swecli.models.session import Session

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.store.session_manager import SessionManager

_MOST_ENTRIES = 20_000  # of the workspace that are looked at for a bare file name
_LARGEST = 1_000_000  # bytes of a Makefile or package.json that is read
_LONGEST = 2_000  # characters of a text that are looked at
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".tox", "target", "dist"})
_SPAN = re.compile(r"`([^`]+)`")
_PATH = re.compile(r"(?:\.?/)?[\w.@*-]+(?:/[\w.@*-]+)*/?")
_FILE = re.compile(
    r".*[\w*-]?\.(?:py|pyi|ipynb|[cm]?js|jsx|tsx?|vue|svelte|go|rs|rb|java|kts?|c|h|cc|[ch]pp|cs|swift|php|sh|bash|sql|"
    r"html|s?css|jsonl?|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|csv|tsv|xml|svg|png|proto|tf|gradle|mk)"
)
_PARTS = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_ASSIGNED = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_TARGET = re.compile(r"^([A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+)*)[ \t]*::?(?!=)", re.MULTILINE)
_NAMED = 3  # strategies, where one thing is gone for many


def anchors_of(content: str) -> tuple[str, ...]:
    """What a text names, as `kind:value` (`path:src/api`, `command:make check`), sorted, each once: the paths between
    backticks, those written out with a folder and an ending elsewhere, and the targets of make and of npm's kin."""
    text = content[:_LONGEST]
    spans = [" ".join(span.split()) for span in _SPAN.findall(text) if "cd " not in span]
    words = [word.strip("()\"'").rstrip(".,;:!?)\"'") for word in _SPAN.sub(" ", text).split()]
    named = [word for word in words if "/" in word.strip("./") and (word.endswith("/") or _FILE.fullmatch(word))]
    named += [word for span in spans for word in span.split() if "/" in word or _FILE.fullmatch(word)]
    paths = {f"path:{word.removeprefix('./')}" for word in named if _PATH.fullmatch(word)}
    return tuple(
        sorted(paths | {f"command:{span}" for span in spans if any(p in _TARGETS for p, *_ in _split_commands(span))})
    )


def _split_commands(command: str) -> list[list[str]]:
    """The words of each command of a line, that of the program first."""
    return [words for part in _PARTS.split(command) if (words := _ASSIGNED.sub("", part).split())]


@dataclass(frozen=True, slots=True)
class Workspaces:
    """What can be looked up without a model. `instructions` gives what a prompt says anyway: the system prompt and the
    project's own files, as they are now."""

    instructions: Callable[[], str] = lambda: ""

    def lookup(self, session: Session, *, deep: bool = True) -> WorkspaceLookup | None:
        """A new look at where a session works; None where that directory is gone: then nothing is known. See
        `WorkspaceLookup` for `far`."""
        root = Path(session.working_directory)
        if not session.working_directory or not root.is_dir():
            return None
        above = Path(session.project) if session.project else root
        return WorkspaceLookup(root, above, deep)


async def check_anchors(sessions: SessionManager, session: Session, workspaces: Workspaces) -> tuple[str, ...]:
    """Look, beside the prompt, for what the strategies of this project name, and keep what is found; lines on those
    that are stale now and were not. Raises StoreError."""
    bullets = dict(session.playbook.bullets)
    lookup = workspaces.lookup(session)
    wanted = [bullet for bullet in bullets.values() if bullet.is_live and bullet.scope != "user"]
    if lookup is None or not wanted:
        return ()
    looked = await asyncio.to_thread(lambda: {bullet.id: lookup.missing(bullet) for bullet in wanted})
    stale = {name: missing for name, missing in looked.items() if missing}
    sessions.playbook.record_anchor_checks(session, stale, [name for name, missing in looked.items() if missing == ""])
    new = {name: why for name, why in stale.items() if not bullets[name].stale}
    pinned = {name: why for name, why in new.items() if bullets[name].state == "pinned"}
    others = {name: why for name, why in new.items() if name not in pinned}
    return (*stale_lines(others, "out of prompts"), *stale_lines(pinned, "in prompts all the same, being pinned"))


def check_new_anchors(sessions: SessionManager, session: Session, workspaces: Workspaces | None, name: str) -> str:
    """What a strategy in the user's words names that is not here, by which it is stale at once; "" where it is here."""
    bullets, lookup = session.playbook.bullets, workspaces.lookup(session) if workspaces else None
    bullet = bullets.get(name)
    if bullet is None or lookup is None or not bullet.is_live or bullet.scope == "user":
        return ""
    if missing := lookup.missing(bullet):
        sessions.playbook.record_anchor_checks(session, {b.id: b.stale for b in bullets.values()} | {name: missing}, ())
    return missing or ""


@dataclass(slots=True)
class StaleStrategies:
    """Finds, among strategies that are to stand in a prompt, those that name something that was here and is gone. What
    was found stays in `found` until a turn has reported it."""

    workspaces: Workspaces | None = None
    found: dict[str, str] = field(default_factory=dict)
    _sessions: set[str] = field(default_factory=set)
    _fresh: set[str] = field(default_factory=set)

    def find(self, session: Session, bullets: Iterable[Bullet]) -> dict[str, str]:
        """The stale ones by id, with what is gone: only what is quickly looked up, but for the first time in a session.
        What never was here was taught nevertheless, and is not found out by this."""
        deep = bool(self._sessions) and session.id not in self._sessions
        self._sessions.add(session.id)
        lookup = self.workspaces.lookup(session, deep=deep) if self.workspaces else None
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
        return list(stale_lines(self.found, "out of prompts"))


def stale_lines(stale: Mapping[str, str], where: str) -> Iterator[str]:
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
    above: Path | None = None
    deep: bool = True

    def missing(self, bullet: Bullet) -> str | None:
        """What a bullet names, in its anchors or else in its words, that is not here, where nothing of it is; "" where
        something is here, None where nothing can be looked up: reading one is not a verification."""
        found = [self._check_anchor(anchor) for anchor in bullet.anchors or anchors_of(bullet.content)]
        return "" if "" in found else next((one for one in found if one), None)

    def first_missing(self, anchors: Iterable[str]) -> str:
        """The first of the anchors that is not here; "" for none."""
        return next((one for anchor in anchors if (one := self._check_anchor(anchor))), "")

    def _check_anchor(self, anchor: str) -> str | None:
        kind, _, value = anchor.partition(":")
        if kind == "command":
            found = [self._check_command(words) for words in _split_commands(value)]
            return next((one for one in found if one), "" if "" in found else None)
        return self._check_path(value) if kind == "path" and value.strip() else None

    def _check_path(self, value: str) -> str | None:
        firm = re.split(r"[^/]*[*?\[]", value)[0]
        if not firm or value.startswith("~") or "$" in value:
            return None
        try:
            if any((root / firm).exists() for root in self._roots):
                return ""
            top, _, below = value.partition("/")
            if not _FILE.fullmatch(value) and not (top and any((root / top).exists() for root in self._roots)):
                return None  # `origin/main`, `text/plain`, `/users`: a slash alone makes no path
        except (OSError, ValueError):
            return None
        if not below and firm == value:
            names = self._names
            if names is None or top in names:
                return None if names is None else ""
        return f"{value} does not exist"

    def _check_command(self, words: list[str]) -> str | None:
        look = _TARGETS.get(words[0])
        answers = [look(root, words) for root in self._roots] if look else [None]
        return "" if "" in answers else None if None in answers else answers[-1]

    @property
    def _roots(self) -> tuple[Path, ...]:
        return (self.root,) if self.above is None else tuple(dict.fromkeys((self.root, self.above)))

    @cached_property
    def _names(self) -> frozenset[str] | None:
        """The names of all files and folders; None when there are too many to look at, or none is to be."""
        if not self.deep:
            return None
        names = set[str]()
        for _, folders, files in os.walk(self._roots[-1]):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            names.update(folders, files)
            if len(names) > _MOST_ENTRIES:
                return None
        return frozenset(names)


def _missing_target(root: Path, words: list[str]) -> str | None:
    """The target that a Makefile lacks; None where it includes others, is run elsewhere, or has rules for any name."""
    files = [root / name for name in ("GNUmakefile", "makefile", "Makefile")]
    text = next((text for text in map(_read, files) if text is not None), None)
    if text is None:
        return "there is no Makefile here"
    elsewhere = any(word.startswith(("-C", "-f", "--directory", "--file")) for word in words)
    if elsewhere or re.search(r"^-?include\b|^[^#\t\n]*%.*:", text, re.MULTILINE):
        return None
    known = {name for match in _TARGET.finditer(text) for name in match[1].split()}
    targets = (word for word in words[1:] if not word.startswith("-") and "=" not in word)
    missing = next((target for target in targets if target not in known and not (root / target).is_file()), "")
    return missing and f"the Makefile has no target {missing}"


def _missing_script(root: Path, words: list[str]) -> str | None:
    """The script that npm and its kin are to run and package.json lacks; None where they run none, or elsewhere."""
    named = [word for word in words[1:] if not word.startswith("-")]
    script = named[1] if named[:1] == ["run"] and len(named) > 1 else next(iter({"test", "start"} & {*named[:1]}), "")
    if not script or any(word in ("-C", "--prefix", "-w", "--filter") for word in words):
        return None
    text = _read(root / "package.json")
    if text is None:
        return "there is no package.json here"
    try:
        scripts = json.loads(text)["scripts"]
    except (ValueError, TypeError, KeyError):
        scripts = {}
    return "" if script in scripts else f"package.json has no script {script}"


_TARGETS = {
    "make": _missing_target,
    "npm": _missing_script,
    "pnpm": _missing_script,
    "yarn": _missing_script,
    "bun": _missing_script,
}


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:_LARGEST] if path.is_file() else None
    except OSError:
        return None
