"""What is reviewed: uncommitted or staged changes, a branch, a commit or range, a pull request, paths, the tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from swecli.config.paths import project_root
from swecli.models.errors import BadInput, UsageError
from swecli.models.review_events import SkippedFile
from swecli.review.target.diffs import ATTRIBUTES, FileDiff, format_skips, parse_diff, parse_hunks, skip_rule_for_path
from swecli.review.target.github import GitHub, GitHubError, PullState, connect, load_state
from swecli.tools.files import is_sensitive
from swecli.tools.git import SECONDS, GitFailed, find_repository, read_attributes, run_git
from swecli.tools.searching import files_below

_NO_FILES = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree, which git knows without storing it
_SHALLOW = "This clone is shallow: fetch all of it (git fetch --unshallow; fetch-depth: 0 in GitHub Actions)."
TARGET_HINT = "Name files (/review src/), a commit, or --base BRANCH."


@dataclass(frozen=True, slots=True)
class Target:
    """`label` is it in words, `files` what can be read, `diffs` the changes by path (none for whole files), `notes` a
    line for each file of which nothing can be read, `skips` what a rule leaves out. `base` is the commit it is compared
    with, `attributes` those it gives to the files; `commit` the one whose files are read ("": the work tree's); `head`
    the newest of pull request `pr` on `github`, `earlier` what its last push left."""

    spec: tuple[str, ...]
    label: str
    files: tuple[str, ...]
    diffs: dict[str, FileDiff] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skips: tuple[SkippedFile, ...] = ()
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    base: str = ""
    commit: str = ""
    pr: int | None = None
    head: str = ""
    earlier: PullState = PullState()
    github: GitHub | None = None

    @property
    def names(self) -> dict[str, str]:
        """Its files by their names, those before a renaming too."""
        old = {diff.old_path: path for path, diff in self.diffs.items() if diff.old_path}
        return old | {path: path for path in self.files}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where targets are looked for: the top of the project, the environment of git, and patterns (`include`) of files
    that no rule shall leave out."""

    root: Path
    environ: Mapping[str, str] | None
    include: tuple[str, ...] = ()

    @property
    def shallow(self) -> str:
        """The commits whose parents this clone was not given; "" where it has all."""
        cut = self.root / ".git" / "shallow"
        return cut.read_text("ascii", "replace") if cut.is_file() else ""

    def git(self, *words: str) -> str:
        return run_git(self.root, *words, environ=self.environ)


def resolve_target(
    here: Path, spec: Sequence[str], environ: Mapping[str, str] | None = None, include: Sequence[str] = ()
) -> Target:
    """What these words name: nothing, `--staged`, `--base BRANCH`, `--pr N`, a commit, `A..B`, paths or `.`, read as
    they are meant in the folder `here`. All that comes out, `spec` too, is relative to the top of its repository (to
    `here` outside of one). Raises UsageError for words that do not go together, BadInput, and GitHubError."""
    words, root = tuple(spec), project_root(here)
    at = _Place(root, environ, tuple(include))
    match words:
        case ():
            return _changes(at, words, ("HEAD",), "the uncommitted changes", "HEAD", untracked=True)
        case ("--staged",):
            return _changes(at, words, ("--cached",), "the staged changes", "HEAD")
        case ("--base", _):
            return _base(at, words)
        case ("--pr", number):
            return _pull(at, number)
        case (flag, *_) if flag.startswith("-"):
            hint = "It takes --staged, --base BRANCH, --pr N, a commit or paths."
            raise UsageError(f"Unknown review option {' '.join(words)}.", hint)
    missing = [word for word in words if not (here / word).exists()]
    if not missing:
        return _paths(at, tuple(_from_top(root, here, word) for word in words))
    if len(words) == 1:
        return _commits(at, words)
    raise BadInput(f"There is no file {missing[0]!r}.", "Paths are relative to the working directory.")


def _base(at: _Place, words: tuple[str, ...]) -> Target:
    find_repository(at.root, at.environ)
    base = words[1]
    try:
        merge_base = at.git("merge-base", "--end-of-options", base, "HEAD").strip()
    except GitFailed as error:
        hint = _SHALLOW if at.shallow else "See: git branch"
        raise BadInput(f"There is no branch or commit {base!r} that this one comes from.", hint) from error
    return _changes(at, words, (merge_base,), f"what changed since {base}", merge_base, untracked=True)


def _commits(at: _Place, words: tuple[str, ...]) -> Target:
    """A range, or a commit as what it changes of its first parent, whose rules and attributes hold."""
    name, kind = words[0], "commit"
    try:
        if ".." in name:
            first, _, last = (word.strip(".") for word in name.partition(".."))
            base, commit, kind = _commit(at, first or "HEAD"), _commit(at, last or "HEAD"), "commits"
            what: tuple[str, ...] = (name,)
        else:
            commit = _commit(at, name)
            base = next(iter(at.git("rev-parse", f"{commit}^@").split()), "")
            what = (base or _NO_FILES, commit)
    except GitFailed as error:
        hint = _SHALLOW if at.shallow else "See: git log --oneline"
        raise BadInput(f"{name!r} is not a file, commit or range.", hint) from error
    if commit in at.shallow and not base:
        raise BadInput(f"What {name!r} changes is not known: the commit before it is not there.", _SHALLOW)
    return replace(_changes(at, words, what, f"the {kind} {name}", base), commit=_read_from(at, commit))


def _commit(at: _Place, name: str) -> str:
    return at.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()


def _read_from(at: _Place, commit: str) -> str:
    """The commit whose files are to be read; "" where the work tree holds just those."""
    same = _commit(at, "HEAD") == commit and not at.git("diff", "--name-only", "HEAD", "--")
    return "" if same else commit


def _changes(
    at: _Place, words: tuple[str, ...], what: tuple[str, ...], label: str, base: str, untracked: bool = False
) -> Target:
    find_repository(at.root, at.environ)
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
        raise BadInput(f"There is nothing to review in {label}.", TARGET_HINT)
    return _fit(at, Target(words, label, (), base=base), diffs)


def _pull(at: _Place, number: str) -> Target:
    """The files of a pull request: its changes from GitHub, its files from its newest commit where the clone has it."""
    if not number.isdecimal() or not 0 < len(number) < 10 or int(number) < 1:
        raise UsageError(f"{number!r} is not the number of a pull request.", "For example: --pr 12")
    at = replace(at, root=find_repository(at.root, at.environ))  # GitHub's paths begin there
    github = connect(at.root, at.environ or {})
    pull = github.send("GET", f"pulls/{int(number)}")
    try:
        head, base = str(pull["head"]["sha"]), str(pull["base"]["sha"])
    except (KeyError, TypeError) as error:
        raise GitHubError(f"GitHub's answer about pull request {number} cannot be read.") from error
    diffs = _pull_diffs(github, int(number))
    if not diffs:
        raise BadInput(f"Pull request {number} changes nothing.", "Name another.")
    label, earlier = f"pull request {number} of {github.repository}", load_state(github, int(number))
    named = Target(("--pr", number), label, (), base=base, pr=int(number), head=head, earlier=earlier, github=github)
    try:
        named = replace(named, commit=_read_from(at, _commit(at, head)))
    except GitFailed:
        line = f"this clone lacks the newest commit of the pull request ({head[:12]}): lines may differ"
        named = replace(named, notes=(line,))
    return _fit(at, named, diffs)


def _pull_diffs(github: GitHub, number: int) -> list[FileDiff]:
    """The changes, as GitHub will compare comments with. One without a patch is binary or too large for GitHub to show:
    it may still be read."""
    out = []
    for row in github.pages(f"pulls/{number}/files", "filename", str):
        gone, hunks = row.get("status") == "removed", parse_hunks(str(row.get("patch") or ""))
        old = str(row.get("previous_filename") or "")
        out.append(FileDiff(row["filename"], old, hunks, "deleted" if gone else ""))
    return out


def _fit(at: _Place, target: Target, diffs: Sequence[FileDiff], named: Collection[str] | None = None) -> Target:
    """The target of these changes, without what cannot be reviewed. Raises BadInput when nothing is left. No rule
    leaves out whole files that were `named` one by one."""
    base, attributes = target.base if named is None else "HEAD", dict[str, dict[str, str]]()
    if base:  # the base's, so that a change cannot hide itself from its review; no repository or such commit: none
        with suppress(BadInput):
            attributes = read_attributes(at.root, base, ATTRIBUTES, [diff.path for diff in diffs], at.environ)
    kept: dict[str, FileDiff] = {}
    notes, skips, include = list(target.notes), list[SkippedFile](), (*at.include, *(named or ()))
    for diff in diffs:
        rule = skip_rule_for_path(diff.path, attributes.get(diff.path, {}), include)
        if diff.what == "conflict":
            notes.append(f"{diff.path} is a merge in conflict: resolve it first")
        elif diff.what == "deleted":
            notes.append(f"{diff.path} was deleted and is not reviewed")
        elif diff.what not in ("", "binary") or rule == "binary":  # a change may call its own text binary
            seen = named is None or diff.path in named  # a folder's pictures are no news
            notes += [f"{diff.path} is {diff.what or rule} and is not reviewed"] if seen else []
        elif is_sensitive(diff.path):
            notes.append(f"{diff.path} may hold secrets and is not reviewed")
        elif rule:
            skips.append(SkippedFile(diff.path, rule))
        else:
            kept[diff.path] = diff
    if not kept:
        reason = notes[0] if len(notes) == 1 and not skips else format_skips(skips)
        reason = reason or (f"none of its {len(notes)} files can be reviewed" if notes else "it changes nothing")
        raise BadInput(f"There is nothing to review in {target.label}: {reason}.", TARGET_HINT)
    changed = kept if named is None else {}
    return replace(
        target, files=tuple(kept), diffs=changed, notes=tuple(notes), skips=tuple(skips), attributes=attributes
    )


def _from_top(top: Path, here: Path, word: str) -> str:
    path = (here / word).resolve()
    if not path.is_relative_to(top):
        raise BadInput(f"{word!r} is outside of this project, {top}.", "Start swecli where the files are.")
    return path.relative_to(top).as_posix()


def _paths(at: _Place, words: tuple[str, ...]) -> Target:
    named = {word for word in words if (at.root / word).is_file()}
    below = (name for word in words if word not in named for name in files_below(at.root, word, at.environ, SECONDS))
    names = dict.fromkeys([*(word for word in words if word in named), *below])
    label = "the whole tree" if words == (".",) else ", ".join(words[:3]) + (" and more" if len(words) > 3 else "")
    return _fit(at, Target(words, label, ()), [FileDiff(name) for name in names], named)
