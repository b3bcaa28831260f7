"""Anchors: the paths and commands that strategies name, and the check of the workspace for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.folders import walk
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.regular_files import MAX_BYTES, decode_text, open_regular

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.store.session_manager import SessionManager

_MAX_ENTRIES = 20_000  # files of a workspace that is searched for a bare file name
_MAX_TEXT = 2_000  # characters of a text that is searched for anchors
_SKIPPED = frozenset(
    {
        ".git",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".mypy_cache",
        ".tox",
        "target",
        "dist",
    }
)
_SPAN = re.compile(r"`([^`]+)`")
_PATH = re.compile(r"(?:\.?/)?[\w.@*-]+(?:/[\w.@*-]+)*/?")
_FILE = re.compile(
    r".*[\w*-]?\.(?:py|pyi|ipynb|[cm]?js|jsx|tsx?|vue|svelte|go|rs|rb|java|kts?|c|h|cc|[ch]pp|cs|swift|php|sh|bash|sql|"
    r"html|s?css|jsonl?|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|csv|tsv|xml|svg|png|proto|tf|gradle|mk)"
)
_PARTS = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_ASSIGNED = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_TARGET = re.compile(r"^([A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+)*)[ \t]*::?(?!=)", re.MULTILINE)
_MAX_NAMES = 3  # ids in one line


def find_anchors(content: str) -> tuple[str, ...]:
    """Find the anchors of a text as `kind:value` (`path:src/api`, `command:make check`), sorted: paths in backticks,
    paths elsewhere if they have a folder and a known suffix, and targets of make, npm and similar programs."""
    text = content[:_MAX_TEXT]
    spans = [" ".join(span.split()) for span in _SPAN.findall(text) if "cd " not in span]
    words = [word.strip("()\"'").rstrip(".,;:!?)\"'") for word in _SPAN.sub(" ", text).split()]
    named = [
        word
        for word in words
        if "/" in word.strip("./") and (word.endswith("/") or _FILE.fullmatch(word))
    ]
    named += [
        word for span in spans for word in span.split() if "/" in word or _FILE.fullmatch(word)
    ]
    paths = {
        f"path:{word.removeprefix('./')}"
        for word in named
        if _PATH.fullmatch(word) and not _is_in_environment(word)
    }
    commands = {
        f"command:{span}"
        for span in spans
        if any(words[0] in _TARGETS for words in _split_commands(span))
    }
    return tuple(sorted(paths | commands))


def is_foreign(name: str) -> bool:
    """Return True for a path that is no file of the project: of an environment, or outside of the workspace."""
    return " " not in name and (name.startswith(("/", "~", "../")) or _is_in_environment(name))


def _is_in_environment(path: str) -> bool:
    """Return True for a path in a folder that holds installed, generated or stored files, such as an interpreter."""
    return not _SKIPPED.isdisjoint(path.split("/"))


def _split_commands(command: str) -> list[list[str]]:
    """Split a command line into the words of its commands, without assignments."""
    return [words for part in _PARTS.split(command) if (words := _ASSIGNED.sub("", part).split())]


def note_anchors(sessions: SessionManager, session: Session, names: Iterable[str]) -> None:
    """Store which of these strategies name something that is there: only that can be gone later."""
    lookup = WorkspaceLookup.of(session)
    bullets = session.playbook.bullets
    if lookup is None:
        return
    new = [bullets[name] for name in names if name in bullets]
    found = [one.id for one in new if one.scope != "user" and lookup.missing(one) == ""]
    if found:
        stale = {one.id: one.stale for one in bullets.values() if one.id not in found}
        sessions.playbook.record_anchor_checks(session, stale, found)


@dataclass(slots=True)
class StaleStrategies:
    """Finds strategies that are stale when a request is built. `found` collects them until a turn reports them."""

    found: dict[str, str] = field(default_factory=dict)
    _fresh: set[str] = field(default_factory=set)

    def find(self, session: Session, bullets: Iterable[Bullet]) -> dict[str, str]:
        """Return the missing anchor of each strategy that became stale, by id; not of those that stay in prompts."""
        lookup = WorkspaceLookup.of(session, deep=False)
        stale: dict[str, str] = {}
        for bullet in bullets if lookup else ():
            if lookup is None or bullet.scope == "user" or bullet.stale:
                continue
            missing = lookup.missing(bullet)
            if missing == "":
                self._fresh.add(bullet.id)
                continue
            was_there = bullet.was_there or bullet.id in self._fresh
            if missing and was_there and replace(bullet, stale=missing).is_left_out:
                stale[bullet.id] = missing
        self.found |= stale
        return stale

    def mark_reported(self) -> None:
        """Forget what was found so far: a turn has told the user."""
        self.found.clear()

    def notices(self, where: str = "out of prompts") -> Iterator[str]:
        """Format one line per missing anchor; `where` says whether its strategies are in prompts."""
        for why in dict.fromkeys(self.found.values()):
            names = [name for name, reason in self.found.items() if reason == why]
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            verb = "is stale and stays" if len(names) == 1 else "are stale and stay"
            yield f"{', '.join(names[:_MAX_NAMES])}{more} {verb} {where}: {why}"


@dataclass(frozen=True)
class WorkspaceLookup:
    """Looks up anchors below `root` and `above`; if `deep`, bare file names in all folders, read once per instance."""

    root: Path
    above: Path | None = None
    deep: bool = True

    @classmethod
    def of(cls, session: Session, *, deep: bool = True) -> WorkspaceLookup | None:
        """Create a lookup for a session's directory; None if it does not exist."""
        root = Path(session.working_directory)
        if not session.working_directory or not root.is_dir():
            return None
        return cls(root, Path(session.project) if session.project else root, deep)

    def missing(self, bullet: Bullet) -> str | None:
        """Return the first missing anchor if none exists, "" if one exists, None if no anchor can be checked. A folder
        does not count beside a file or command: it exists longer than what the bullet is about."""
        anchors = bullet.anchors or find_anchors(bullet.content)
        own = [one for one in anchors if not _is_in_environment(one.partition(":")[2])]
        answers = {anchor: self._check_anchor(anchor) for anchor in own}
        checked = {anchor: answer for anchor, answer in answers.items() if answer is not None}
        exact = [answer for anchor, answer in checked.items() if not _is_folder(anchor)]
        decisive = exact or [*checked.values()]
        return "" if "" in decisive else next(iter(decisive), None)

    def gone(self, bullet: Bullet) -> str:
        """Return the missing anchor of a strategy whose anchors were there, "" for none. What never existed makes
        nothing stale: the user may speak of a file that is still to come."""
        return (bullet.was_there and self.missing(bullet)) or ""

    def has(self, name: str) -> bool:
        """Return True for the relative path of something that exists in the workspace."""
        if name.startswith(("/", "~")) or ".." in Path(name).parts:
            return False
        try:
            return any((root / name).exists() for root in self._roots)
        except (OSError, ValueError):
            return False

    def _check_anchor(self, anchor: str) -> str | None:
        kind, _, value = anchor.partition(":")
        if kind == "command":
            found = [self._check_command(words) for words in _split_commands(value)]
            return next((one for one in found if one), "" if "" in found else None)
        return self._check_path(value) if kind == "path" and value.strip() else None

    def _check_path(self, value: str) -> str | None:
        fixed = re.split(r"[^/]*[*?\[]", value)[0]  # the part before a wildcard
        if not fixed or value.startswith("~") or "$" in value:
            return None
        try:
            if any((root / fixed).exists() for root in self._roots):
                return ""
            top, _, below = value.partition("/")
            if not _FILE.fullmatch(value) and not (
                top and any((root / top).exists() for root in self._roots)
            ):
                return None  # `origin/main`, `text/plain`, `/users`: a slash alone makes no path
        except (OSError, ValueError):
            return None
        if not below and fixed == value:
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
        """The names of all files and folders; None if there are too many, or the lookup is not deep."""
        if not self.deep:
            return None
        names = set[str]()
        for _, entries in walk(str(self._roots[-1])):
            entries[:] = [entry for entry in entries if entry.name not in _SKIPPED]
            names.update(entry.name for entry in entries)
            if len(names) > _MAX_ENTRIES:
                return None
        return frozenset(names)


def _is_folder(anchor: str) -> bool:
    kind, _, value = anchor.partition(":")
    return kind == "path" and not _FILE.fullmatch(value)


def _missing_target(root: Path, words: list[str]) -> str | None:
    """Check the targets of a make command; None if they cannot be known: include, pattern rules, another directory."""
    files = [root / name for name in ("GNUmakefile", "makefile", "Makefile")]
    text = next((text for text in map(_read, files) if text is not None), None)
    if text is None:
        return "there is no Makefile here"
    elsewhere = any(word.startswith(("-C", "-f", "--directory", "--file")) for word in words)
    if elsewhere or re.search(r"^-?include\b|^[^#\t\n]*%.*:", text, re.MULTILINE):
        return None
    known = {name for match in _TARGET.finditer(text) for name in match[1].split()}
    targets = (word for word in words[1:] if not word.startswith("-") and "=" not in word)
    missing = next(
        (target for target in targets if target not in known and not (root / target).is_file()), ""
    )
    return missing and f"the Makefile has no target {missing}"


def _missing_script(root: Path, words: list[str]) -> str | None:
    """Check the script of an npm, pnpm, yarn or bun command; None if it runs none, or one of another directory."""
    named = [word for word in words[1:] if not word.startswith("-")]
    script = (
        named[1]
        if named[:1] == ["run"] and len(named) > 1
        else next(iter({"test", "start"} & {*named[:1]}), "")
    )
    if not script or any(word in ("-C", "--prefix", "-w", "--filter") for word in words):
        return None
    text = _read(root / "package.json")
    if text is None:
        return "there is no package.json here"
    try:
        scripts = json.loads(text)["scripts"]
    except (ValueError, TypeError, KeyError, RecursionError):
        scripts = {}
    return "" if script in scripts else f"package.json has no script {script}"


_TARGETS = {"make": _missing_target} | dict.fromkeys(
    ("npm", "pnpm", "yarn", "bun"), _missing_script
)


def _read(path: Path) -> str | None:
    try:
        with open_regular(path) as file:
            return decode_text(file.read(MAX_BYTES))
    except OSError:
        return None
