"""What is reviewed: uncommitted or staged changes, a branch, a commit, a range, paths, or the whole tree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.errors import BadInput, UsageError
from swecli.review.judge.sources import LARGEST
from swecli.review.target.diffs import FileDiff, parse_diff
from swecli.tools.git import GitFailed, need_repository, run_git
from swecli.tools.ignore import IgnoreRules, walk
from swecli.tools.paths import sensitive

BINARY = re.compile(
    r".*\.(?:png|jpe?g|gif|ico|webp|svg|pdf|zip|gz|xz|bz2|tar|whl|jar|class|so|dll|exe|bin|db|sqlite|woff2?|ttf|otf|mp[34]|"
    r"pyc|o|a|lock)",
    re.IGNORECASE | re.DOTALL,
)
ELSE = "Name files (/review src/), a commit, or --base BRANCH."


@dataclass(frozen=True, slots=True)
class Target:
    """`label` is it in words, `files` what can be read, `diffs` the changes by path (none for whole files), `notes`
    a line for each file that is left out. `pr` is the number of a pull request, `head` its newest commit."""

    spec: tuple[str, ...]
    label: str
    files: tuple[str, ...]
    diffs: dict[str, FileDiff] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pr: int | None = None
    head: str = ""


def find_target(here: Path, spec: Sequence[str], environ: Mapping[str, str] | None = None) -> Target:
    """What these words name: nothing, `--staged`, `--base BRANCH`, a commit, `A..B`, paths or `.`.

    Words are read as they are meant in the folder `here`; all that comes out, `spec` too, is relative to the top of
    its repository (to `here` outside of one), so that a review begun in a subfolder and one from the top agree.

    Raises:
        UsageError: words that do not go together.
        BadInput: no repository, no such commit or path, or nothing to review.
    """
    words, root = tuple(spec), project_root(here)
    if not words:
        return _changes(root, words, ("HEAD",), "the uncommitted changes", environ, untracked=True)
    if words[0] == "--staged":
        _alone(words, 1)
        return _changes(root, words, ("--cached",), "the staged changes", environ)
    if words[0] == "--base":
        _alone(words, 2)
        return _base(root, words, environ)
    if words[0].startswith("-"):
        raise UsageError(f"A review has no {words[0]}.", "It takes --staged, --base BRANCH, --pr N, a commit or paths.")
    if all((here / word).exists() for word in words):
        return _paths(root, tuple(_from_top(root, here, word) for word in words))
    if len(words) == 1:
        return _commits(root, words, environ)
    missing = next(word for word in words if not (here / word).exists())
    raise BadInput(f"There is no file {missing!r}.", "Paths are relative to the working directory.")


def _alone(words: tuple[str, ...], count: int) -> None:
    if len(words) != count:
        what = "needs a branch" if len(words) < count else "stands alone"
        raise UsageError(f"{words[0]} {what}.", f"For example: {'--base main' if count == 2 else words[0]}")


def _base(root: Path, words: tuple[str, ...], environ: Mapping[str, str] | None) -> Target:
    need_repository(root, environ)
    base = words[1]
    try:
        merge_base = run_git(root, "merge-base", "--end-of-options", base, "HEAD", environ=environ).strip()
    except GitFailed as error:
        raise BadInput(f"There is no branch or commit {base!r} that this one comes from.", "See: git branch") from error
    return _changes(root, words, (merge_base,), f"what changed since {base}", environ, untracked=True)


def _commits(root: Path, words: tuple[str, ...], environ: Mapping[str, str] | None) -> Target:
    need_repository(root, environ)
    name = words[0]
    try:
        if ".." in name:
            run_git(
                root,
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                name.split("..")[0] or "HEAD",
                environ=environ,
            )
            return _changes(root, words, (name,), f"the commits {name}", environ)
        commit = run_git(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}", environ=environ)
        text = run_git(root, "show", "--format=", commit.strip(), environ=environ)
    except GitFailed as error:
        raise BadInput(f"{name!r} is no file, commit or range here.", "See: git log --oneline") from error
    return of_diffs(root, words, f"the commit {name}", parse_diff(text))


def _changes(
    root: Path,
    words: tuple[str, ...],
    what: tuple[str, ...],
    label: str,
    environ: Mapping[str, str] | None,
    untracked: bool = False,
) -> Target:
    need_repository(root, environ)
    try:
        text = run_git(root, "diff", *what, "--", environ=environ)
    except GitFailed:
        if what != ("HEAD",):
            raise
        text = run_git(root, "diff", "--cached", environ=environ)  # nothing was committed yet
    diffs = parse_diff(text)
    if untracked:
        listed = run_git(root, "ls-files", "--others", "--exclude-standard", "-z", environ=environ)
        diffs += [FileDiff(name) for name in listed.split("\0") if name]
    if not diffs:
        raise BadInput(f"There is nothing to review: {label} are empty.", ELSE)
    return of_diffs(root, words, label, diffs)


def of_diffs(root: Path, words: tuple[str, ...], label: str, diffs: list[FileDiff]) -> Target:
    """The target of these changes, without what cannot be reviewed. Raises BadInput when nothing is left."""
    kept: dict[str, FileDiff] = {}
    notes = []
    for diff in diffs:
        if diff.deleted:
            notes.append(f"{diff.path} was deleted and is not reviewed")
        elif diff.binary:
            notes.append(f"{diff.path} is binary and is not reviewed")
        elif problem := _unfit(root, diff.path):
            notes.append(problem)
        else:
            kept[diff.path] = diff
    if not kept:
        reason = notes[0] if len(notes) == 1 else f"none of its {len(notes)} files can be reviewed"
        raise BadInput(f"There is nothing to review in {label}: {reason or 'it changes nothing'}.", ELSE)
    return Target(words, label, tuple(kept), {path: diff for path, diff in kept.items() if diff.text}, tuple(notes))


def _unfit(root: Path, path: str) -> str:
    """Why a file cannot be reviewed, "" when it can."""
    if sensitive(path):
        return f"{path} may hold secrets and is not reviewed"
    try:
        size = (root / path).lstat().st_size
    except OSError:
        return f"{path} is not there any more and is not reviewed"
    return f"{path} is too large ({size:,} bytes, at most {LARGEST:,}) and is not reviewed" if size > LARGEST else ""


def _from_top(top: Path, here: Path, word: str) -> str:
    path = (here / word).resolve()
    if not path.is_relative_to(top):
        raise BadInput(f"{word!r} is outside of this project, {top}.", "Start swecli where the files are.")
    return path.relative_to(top).as_posix()


def _paths(top: Path, words: tuple[str, ...]) -> Target:
    rules = IgnoreRules(top)
    found: dict[str, None] = {}
    notes = []
    for start in words:
        path = top / start
        names = [start] if path.is_file() else [e.path for e in walk(top, start, None, rules) if e.kind == "file"]
        for name in names:
            if BINARY.fullmatch(name):
                notes += [f"{name} is binary and is not reviewed"] if path.is_file() else []
            elif problem := _unfit(top, name):
                notes.append(problem)
            else:
                found[name] = None
    if not found:
        raise BadInput("There is nothing to review there" + (f": {notes[0]}." if notes else "."), "Name other files.")
    label = "the whole tree" if words == (".",) else ", ".join(words[:3]) + (" and more" if len(words) > 3 else "")
    return Target(words, label, tuple(found), {}, tuple(notes))
