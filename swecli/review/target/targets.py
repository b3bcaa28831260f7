"""What is reviewed: uncommitted or staged changes, a branch, a commit, a range, paths, or the whole tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.coverage import Skip
from swecli.models.errors import BadInput, UsageError
from swecli.review.judge.sources import LARGEST
from swecli.review.target.diffs import FileDiff, parse_diff
from swecli.review.target.pull_state import PullState
from swecli.review.target.skips import ATTRIBUTES, in_words, rule_by_name
from swecli.tools.git import GitFailed, attributes_of, need_repository, run_git
from swecli.tools.ignore import IgnoreRules, walk
from swecli.tools.paths import sensitive

ELSE = "Name files (/review src/), a commit, or --base BRANCH."


@dataclass(frozen=True, slots=True)
class Target:
    """`label` is it in words, `files` what can be read, `diffs` the changes by path (none for whole files), `notes`
    a line for each file that is left out because nothing of it can be read, `skips` what a rule leaves out.

    `base` is the commit that the changes are compared with ("" for none), `attributes` those it gives to the files.
    `pr` is the number of a pull request, `head` its newest commit, `earlier` what its last push left.
    """

    spec: tuple[str, ...]
    label: str
    files: tuple[str, ...]
    diffs: dict[str, FileDiff] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skips: tuple[Skip, ...] = ()
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    base: str = ""
    pr: int | None = None
    head: str = ""
    earlier: PullState = PullState()


@dataclass(frozen=True, slots=True)
class Setting:
    """Where targets are looked for: the top of the project, the environment of git, and patterns (`include`) of files
    that no rule shall leave out."""

    root: Path
    environ: Mapping[str, str] | None = None
    include: tuple[str, ...] = ()

    def git(self, *words: str) -> str:
        """git's answer at the top."""
        return run_git(self.root, *words, environ=self.environ)


def find_target(
    here: Path, spec: Sequence[str], environ: Mapping[str, str] | None = None, include: Sequence[str] = ()
) -> Target:
    """What these words name: nothing, `--staged`, `--base BRANCH`, a commit, `A..B`, paths or `.`.

    Words are read as they are meant in the folder `here`; all that comes out, `spec` too, is relative to the top of
    its repository (to `here` outside of one), so that a review begun in a subfolder and one from the top agree.

    Raises:
        UsageError: words that do not go together.
        BadInput: no repository, no such commit or path, or nothing to review.
    """
    words, root = tuple(spec), project_root(here)
    at = Setting(root, environ, tuple(include))
    if not words:
        return _changes(at, words, ("HEAD",), "the uncommitted changes", "HEAD", untracked=True)
    if words[0] == "--staged":
        _alone(words, 1)
        return _changes(at, words, ("--cached",), "the staged changes", "HEAD")
    if words[0] == "--base":
        _alone(words, 2)
        return _base(at, words)
    if words[0].startswith("-"):
        raise UsageError(f"A review has no {words[0]}.", "It takes --staged, --base BRANCH, --pr N, a commit or paths.")
    if all((here / word).exists() for word in words):
        return _paths(at, tuple(_from_top(root, here, word) for word in words))
    if len(words) == 1:
        return _commits(at, words)
    missing = next(word for word in words if not (here / word).exists())
    raise BadInput(f"There is no file {missing!r}.", "Paths are relative to the working directory.")


def _alone(words: tuple[str, ...], count: int) -> None:
    if len(words) != count:
        what = "needs a branch" if len(words) < count else "stands alone"
        raise UsageError(f"{words[0]} {what}.", f"For example: {'--base main' if count == 2 else words[0]}")


def _base(at: Setting, words: tuple[str, ...]) -> Target:
    need_repository(at.root, at.environ)
    base = words[1]
    try:
        merge_base = at.git("merge-base", "--end-of-options", base, "HEAD").strip()
    except GitFailed as error:
        hint = "See: git branch"
        if (at.root / ".git" / "shallow").exists():
            hint = "This clone is shallow: fetch all of it (git fetch --unshallow; fetch-depth: 0 in GitHub Actions)."
        raise BadInput(f"There is no branch or commit {base!r} that this one comes from.", hint) from error
    return _changes(at, words, (merge_base,), f"what changed since {base}", merge_base, untracked=True)


def _commits(at: Setting, words: tuple[str, ...]) -> Target:
    need_repository(at.root, at.environ)
    name = words[0]
    try:
        if ".." in name:
            first = name.split("..")[0] or "HEAD"
            base = at.git("rev-parse", "--verify", "--quiet", "--end-of-options", first).strip()
            return _changes(at, words, (name,), f"the commits {name}", base)
        commit = at.git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").strip()
        text = at.git("show", "-M", "--format=", commit)
    except GitFailed as error:
        raise BadInput(f"{name!r} is no file, commit or range here.", "See: git log --oneline") from error
    return of_diffs(at, Target(words, f"the commit {name}", (), base=commit), parse_diff(text))


def _changes(
    at: Setting, words: tuple[str, ...], what: tuple[str, ...], label: str, base: str, untracked: bool = False
) -> Target:
    need_repository(at.root, at.environ)
    try:
        text = at.git("diff", "-M", *what, "--")
    except GitFailed:
        if what != ("HEAD",):
            raise
        text, base = at.git("diff", "-M", "--cached"), ""  # nothing was committed yet
    diffs = parse_diff(text)
    if untracked:
        listed = at.git("ls-files", "--others", "--exclude-standard", "-z")
        diffs += [FileDiff(name) for name in listed.split("\0") if name]
    if not diffs:
        raise BadInput(f"There is nothing to review: {label} are empty.", ELSE)
    return of_diffs(at, Target(words, label, (), base=base), diffs)


def of_diffs(at: Setting, target: Target, diffs: Sequence[FileDiff]) -> Target:
    """The target of these changes, without what cannot be reviewed. Raises BadInput when nothing is left."""
    attributes = base_attributes(at.root, target.base, [diff.path for diff in diffs], at.environ)
    kept: dict[str, FileDiff] = {}
    notes, skips = list[str](), list[Skip]()
    for diff in diffs:
        rule = rule_by_name(diff.path, attributes.get(diff.path, {}), at.include)
        if diff.what == "conflict":
            notes.append(f"{diff.path} is a merge in conflict: resolve it first")
        elif diff.what == "deleted":
            notes.append(f"{diff.path} was deleted and is not reviewed")
        elif diff.what or rule == "binary":
            notes.append(f"{diff.path} is {diff.what or rule} and is not reviewed")
        elif problem := _unfit(at.root, diff):
            notes.append(problem)
        elif rule:
            skips.append(Skip(diff.path, rule))
        else:
            kept[diff.path] = diff
    if not kept:
        reason = notes[0] if len(notes) == 1 and not skips else in_words(skips)
        reason = reason or (f"none of its {len(notes)} files can be reviewed" if notes else "it changes nothing")
        hint = "--include PATTERN brings them back." if skips else ELSE
        raise BadInput(f"There is nothing to review in {target.label}: {reason}.", hint)
    return replace(target, files=tuple(kept), diffs=kept, notes=tuple(notes), skips=tuple(skips), attributes=attributes)


def _unfit(root: Path, diff: FileDiff) -> str:
    """Why a file cannot be reviewed, "" when it can."""
    path = diff.path
    if sensitive(path):
        return f"{path} may hold secrets and is not reviewed"
    try:
        size = (root / path).lstat().st_size
    except OSError:
        return "" if diff.hunks else f"{path} is not there any more and is not reviewed"
    return f"{path} is too large ({size:,} bytes, at most {LARGEST:,}) and is not reviewed" if size > LARGEST else ""


def _from_top(top: Path, here: Path, word: str) -> str:
    path = (here / word).resolve()
    if not path.is_relative_to(top):
        raise BadInput(f"{word!r} is outside of this project, {top}.", "Start swecli where the files are.")
    return path.relative_to(top).as_posix()


def _paths(at: Setting, words: tuple[str, ...]) -> Target:
    top, rules = at.root, IgnoreRules(at.root)
    named = {word for word in words if (top / word).is_file()}
    below = (e.path for word in words if word not in named for e in walk(top, word, None, rules) if e.kind == "file")
    names = list(dict.fromkeys([*(word for word in words if word in named), *below]))
    attributes = base_attributes(top, "HEAD", names, at.environ)
    found, notes, skips = list[str](), list[str](), list[Skip]()
    for name in names:
        rule = rule_by_name(name, attributes.get(name, {}), (*at.include, *named))
        if _is_binary(name):
            notes += [f"{name} is binary and is not reviewed"] if name in named else []
        elif problem := _unfit(top, FileDiff(name)):
            notes.append(problem)
        elif rule:
            skips.append(Skip(name, rule))
        else:
            found.append(name)
    if not found:
        why = f": {notes[0]}" if notes else f": {in_words(skips)}" if skips else ""
        raise BadInput(f"There is nothing to review there{why}.", "Name other files.")
    label = "the whole tree" if words == (".",) else ", ".join(words[:3]) + (" and more" if len(words) > 3 else "")
    return Target(words, label, tuple(found), {}, tuple(notes), tuple(skips), attributes)


def _is_binary(name: str) -> bool:
    return rule_by_name(name, {}, ()) == "binary"


def base_attributes(
    root: Path, base: str, paths: Sequence[str], environ: Mapping[str, str] | None
) -> dict[str, dict[str, str]]:
    """The attributes that decide what is skipped, as the base commit gives them; none where there is no such commit.

    The base's, so that a change cannot hide itself from its review.
    """
    if not base:
        return {}
    try:
        return attributes_of(root, base, ATTRIBUTES, paths, environ)
    except BadInput:  # no repository, or a commit that this clone lacks
        return {}
