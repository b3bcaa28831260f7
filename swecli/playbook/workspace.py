"""Anchors: the paths that strategies name, and the check of the workspace for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.folders import walk
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.values import dataclass

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
_MAX_NAMES = 3  # ids in one line


def find_anchors(content: str) -> tuple[str, ...]:
    """Find the anchors of a text (`path:src/api`), sorted: paths in backticks, and paths elsewhere if they have a
    folder and a known suffix."""
    text = content[:_MAX_TEXT]
    code = [word for span in _SPAN.findall(text) if "cd " not in span for word in span.split()]
    prose = [word.strip("()\"'").rstrip(".,;:!?)\"'") for word in _SPAN.sub(" ", text).split()]
    candidates = [word for word in code if "/" in word or _FILE.fullmatch(word)]
    candidates += [
        word
        for word in prose
        if "/" in word.strip("./") and (word.endswith("/") or _FILE.fullmatch(word))
    ]
    paths = {
        f"path:{word.removeprefix('./')}"
        for word in candidates
        if _PATH.fullmatch(word) and not _is_in_environment(word)
    }
    return tuple(sorted(paths))


def _is_in_environment(path: str) -> bool:
    """Return True for a path in a folder that holds installed, generated or stored files, such as an interpreter."""
    return not _SKIPPED.isdisjoint(path.split("/"))


def note_anchors(sessions: SessionManager, session: Session, names: Iterable[str]) -> None:
    """Store which of these strategies name something that is there: only that can be gone later."""
    lookup = WorkspaceLookup.of(session)
    bullets = session.playbook.bullets
    if lookup is None:
        return
    new = [bullets[name] for name in names if name in bullets]
    present = [
        bullet.id for bullet in new if bullet.scope != "user" and lookup.check(bullet).exists
    ]
    if present:
        stale = {bullet.id: bullet.stale for bullet in bullets.values() if bullet.id not in present}
        sessions.playbook.record_anchor_checks(session, stale, present)


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """Whether what a strategy names exists, None if that cannot be told; `missing_anchor` is what does not exist, as a
    clause, else ""."""

    exists: bool | None = None
    missing_anchor: str = ""


_EXISTS = AnchorCheck(exists=True)
_UNKNOWN = AnchorCheck()


@dataclass(slots=True)
class StaleStrategies:
    """Finds strategies that are stale when a request is built. `unreported` holds what each lacks, by id, until a turn
    tells the user."""

    unreported: dict[str, str] = field(default_factory=dict)
    _checked: set[str] = field(default_factory=set)  # ids of strategies whose anchors were there

    def find(self, session: Session, bullets: Iterable[Bullet]) -> dict[str, str]:
        """Return the missing anchor of each strategy that became stale, by id; not of those that stay in prompts."""
        lookup = WorkspaceLookup.of(session, deep=False)
        stale: dict[str, str] = {}
        for bullet in bullets:
            if lookup is None or bullet.scope == "user" or bullet.stale:
                continue
            check = lookup.check(bullet)
            if check.exists:
                self._checked.add(bullet.id)
            was_there = bullet.was_there or bullet.id in self._checked
            if was_there and replace(bullet, stale=check.missing_anchor).is_left_out:
                stale[bullet.id] = check.missing_anchor
        self.unreported |= stale
        return stale

    def mark_reported(self) -> None:
        """Forget what was found so far: a turn has told the user."""
        self.unreported.clear()

    def notices(self, presence: str = "out of prompts") -> Iterator[str]:
        """Format one line per missing anchor; `presence` says whether its strategies are in prompts."""
        for missing_anchor in dict.fromkeys(self.unreported.values()):
            names = [name for name, reason in self.unreported.items() if reason == missing_anchor]
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            verb = "is stale and stays" if len(names) == 1 else "are stale and stay"
            yield f"{', '.join(names[:_MAX_NAMES])}{more} {verb} {presence}: {missing_anchor}"


@dataclass(frozen=True)
class WorkspaceLookup:
    """Looks up anchors below the folder `root` and its project `above`; if `deep`, bare file names in all folders,
    which are read once per instance."""

    root: Path
    above: Path | None = None
    deep: bool = True

    @classmethod
    def of(cls, session: Session, *, deep: bool = True) -> WorkspaceLookup | None:
        """Create a lookup for a session's directory; None if it does not exist."""
        root = Path(session.working_directory)
        if not session.working_directory or not root.is_dir():
            return None
        return cls(root, project_root(root), deep)

    def check(self, bullet: Bullet) -> AnchorCheck:
        """Check the anchors of a bullet: one that exists is enough, else the first missing one is named. A folder does
        not count beside a file: it exists longer than what the bullet is about."""
        anchors = bullet.anchors or find_anchors(bullet.content)
        checkable = [
            anchor for anchor in anchors if not _is_in_environment(anchor.partition(":")[2])
        ]
        checks = {anchor: self._check_anchor(anchor) for anchor in checkable}
        certain = {anchor: check for anchor, check in checks.items() if check != _UNKNOWN}
        of_files = [check for anchor, check in certain.items() if not _is_folder(anchor)]
        decisive = of_files or [*certain.values()]
        return _EXISTS if _EXISTS in decisive else next(iter(decisive), _UNKNOWN)

    def stale_anchor(self, bullet: Bullet) -> str:
        """Return the missing anchor of a strategy whose anchors were there, "" for none. What never existed makes
        nothing stale: the user may speak of a file that is still to come."""
        return self.check(bullet).missing_anchor if bullet.was_there else ""

    def has(self, name: str) -> bool:
        """Return True for the relative path of something that exists in the workspace."""
        if name.startswith(("/", "~")) or ".." in Path(name).parts:
            return False
        try:
            return self._exists(name)
        except (OSError, ValueError):
            return False

    def _check_anchor(self, anchor: str) -> AnchorCheck:
        kind, _, path = anchor.partition(":")
        fixed = re.split(r"[^/]*[*?\[]", path)[0]  # the folders before a wildcard
        if kind != "path" or not fixed.strip() or path.startswith("~") or "$" in path:
            return _UNKNOWN
        first_folder, _, below = path.partition("/")
        try:
            if self._exists(fixed):
                return _EXISTS
            if not _FILE.fullmatch(path) and not (first_folder and self._exists(first_folder)):
                return (
                    _UNKNOWN  # `origin/main`, `text/plain`, `/users`: a slash alone makes no path
                )
        except (OSError, ValueError):
            return _UNKNOWN
        if not below and fixed == path:
            if self._names is None:
                return _UNKNOWN
            if first_folder in self._names:
                return _EXISTS
        return AnchorCheck(exists=False, missing_anchor=f"{path} does not exist")

    def _exists(self, path: str) -> bool:
        return any((root / path).exists() for root in self._roots)

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
