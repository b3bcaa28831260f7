"""Resolve the target of a review: uncommitted or staged changes, a branch, commits, a pull request, or paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from swecli.config.paths import project_root
from swecli.folders import path_exists
from swecli.models.errors import BadInput, UsageError
from swecli.models.review_events import SkippedFile
from swecli.review.judge.sources import Snapshot, Sources, project_sources
from swecli.review.target.diffs import (
    ATTRIBUTES,
    FileDiff,
    format_skips,
    parse_diff,
    skip_rule,
)
from swecli.review.target.github import GitHub, GitHubError, PullState
from swecli.tools.git import (
    SECONDS,
    GitFailed,
    checkout_files,
    find_repository,
    read_attributes,
    run_git,
)
from swecli.tools.searching import files_below
from swecli.values import dataclass

_SHALLOW_HINT = "This clone is shallow: fetch all of it (git fetch --unshallow; fetch-depth: 0 in GitHub Actions)."
_MAX_NAMED = 20  # deleted files that are named
_MAX_COMMITS = 50  # whose messages say what a change is for
TARGET_HINT = "Name files (/review src/), a commit, or --base BRANCH."


@dataclass(frozen=True, slots=True)
class Target:
    """What is reviewed. `spec` are the user's words, `label` describes it, `diffs` maps paths to changes (empty for
    whole files), `notes` name files that cannot be reviewed, `skips` those that a rule skips, `include` are patterns of
    files that no rule skips. `intent` is what the author says of the change, `deleted` are the files that it deletes.
    `base` is the commit it is compared with, `commit` the one whose files are read from `sources`, "" for the work tree
    and, with `is_staged`, for the index: what is compared and what is read are always the same files.
    `pr`, `head`, `github` and `earlier`, the state of the last push, belong to a pull request."""

    spec: tuple[str, ...]
    label: str
    files: tuple[str, ...] = ()
    diffs: dict[str, FileDiff] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skips: tuple[SkippedFile, ...] = ()
    base: str = ""
    commit: str = ""
    pr: int | None = None
    head: str = ""
    earlier: PullState = PullState()
    github: GitHub | None = None
    include: tuple[str, ...] = ()
    intent: str = ""
    deleted: tuple[str, ...] = ()
    is_staged: bool = False
    sources: Sources = field(default_factory=lambda: Sources(Path()), compare=False)


@dataclass(frozen=True, slots=True)
class _Context:
    """The top of the project, the environment for git, and the patterns of `--include`."""

    root: Path
    environ: Mapping[str, str] | None
    include: tuple[str, ...] = ()
    barrier: Callable[[str], str] | None = None  # as in `Sources`
    paths: tuple[str, ...] = ()  # of which the change is reviewed; (): of all

    def limited(self, base: Path, paths: Iterable[str]) -> _Context:
        """Return the context of a change in these paths, which are relative to `base`; without any of the folder."""
        folder = base.resolve()
        given_paths = [(folder / path).resolve() for path in paths] or [folder]
        if outside := [path for path in given_paths if not path.is_relative_to(self.root)]:
            raise BadInput(
                f"'{outside[0]}' is outside of this project, {self.root}.",
                "Start swecli where the files are.",
            )
        inside = [path.relative_to(self.root).as_posix() for path in given_paths]
        return replace(self, paths=() if "." in inside else tuple(inside))

    @property
    def words(self) -> list[str]:
        """The paths for the end of a git command."""
        return ["--", *(f":(literal){path}" for path in self.paths)]

    @property
    def place(self) -> str:
        """Where the change is reviewed, for the label."""
        return f" in {_label_of(self.paths)}" if self.paths else ""

    @property
    def is_shallow(self) -> bool:
        return self.git("rev-parse", "--is-shallow-repository").strip() == "true"

    def git(self, *words: str) -> str:
        return run_git(self.root, *words, environ=self.environ)

    def messages(self, commits: str) -> str:
        """Return the messages of commits, the newest first."""
        with suppress(GitFailed):
            return self.git("show", "-s", f"-{_MAX_COMMITS}", "--format=%B", commits, "--").strip()
        return ""

    def resolve(self, name: str) -> str:
        """Return the commit's full id. Raises GitFailed."""
        return self.git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        ).strip()


def resolve_target(
    folder: Path,
    spec: Sequence[str],
    environ: Mapping[str, str] | None = None,
    include: Sequence[str] = (),
    barrier: Callable[[str], str] | None = None,
) -> Target:
    """Return the target of the user's words: none, `--staged`, `--base BRANCH`, `--pr N`, a commit, `A..B`, each with
    paths behind it, or only paths. Paths are relative to `folder`, those of the result to the top of the repository
    (outside of one: to `folder`). Without paths a change is that of `folder`, a pull request all of it. Raises
    UsageError, BadInput and GitHubError."""
    words = tuple(spec)
    root = project_root(folder)
    ctx = _Context(root, environ, tuple(include), barrier)
    match words:
        case () | ("--staged", *_):
            changes = Target((), "the uncommitted changes", base="HEAD")
            if words:
                changes = Target(words[:1], "the staged changes", base="HEAD", is_staged=True)
            ctx = ctx.limited(folder, words[1:])
            command = ("diff", "--cached") if words else ("diff", "HEAD")
            return _diff_target(ctx, changes, command, untracked=not words)
        case ("--base", branch, *paths):
            return _branch_target(ctx.limited(folder, paths), branch)
        case ("--pr", number, *paths):
            return _pull_request_target(ctx.limited(folder, paths) if paths else ctx, number)
        case (flag, *_) if flag.startswith("-"):
            hint = "It takes --staged, --base BRANCH, --pr N, a commit or paths."
            raise UsageError(f"Unknown review option {' '.join(words)}.", hint)
    missing_words = [word for word in words if not path_exists(folder / word)]
    if not missing_words:
        return _path_target(ctx, folder, words)
    if missing_words == [words[0]]:
        return _commit_target(ctx.limited(folder, words[1:]), words[0])
    raise BadInput(
        f"There is no file {missing_words[-1]!r}.", "Paths are relative to the working directory."
    )


def _branch_target(ctx: _Context, branch: str) -> Target:
    find_repository(ctx.root, ctx.environ)
    try:
        base = ctx.git("merge-base", "--end-of-options", branch, "HEAD").strip()
    except GitFailed as error:
        hint = (
            _SHALLOW_HINT
            if ctx.is_shallow
            else "See: git branch --all (one that was only fetched is origin/NAME)"
        )
        raise BadInput(
            f"There is no branch or commit {branch!r} that shares history with HEAD.", hint
        ) from error
    # a sparse checkout does not contain all files
    commit = "" if ctx.git("diff", "--name-only", "HEAD", "--") else ctx.resolve("HEAD")
    target = Target(
        ("--base", branch),
        f"what changed since {branch}",
        base=base,
        commit=commit,
        intent=ctx.messages(f"{base}..HEAD"),
    )
    return _diff_target(ctx, target, ("diff", base), untracked=True)


def _commit_target(ctx: _Context, name: str) -> Target:
    """Return the target of a range, or of a commit compared with its first parent."""
    kind = "commit"
    try:
        if ".." in name:
            first, _, last = (word.strip(".") for word in name.partition(".."))
            base = ctx.resolve(first or "HEAD")
            commit = ctx.resolve(last or "HEAD")
            kind = "commits"
            command: tuple[str, ...] = ("diff", name)
        else:
            commit = ctx.resolve(name)
            base = next(iter(ctx.git("rev-parse", f"{commit}^@").split()), "")
            command = ("show", "--format=", "--root", "-m", "--first-parent", commit)
    except GitFailed as error:
        hint = _SHALLOW_HINT if ctx.is_shallow else "See: git log --oneline"
        raise BadInput(f"{name!r} is not a file, commit or range.", hint) from error
    if not base and ctx.is_shallow:
        raise BadInput(
            f"The parent of {name!r} is missing, so its changes are unknown.", _SHALLOW_HINT
        )
    intent = ctx.messages(f"{base}..{commit}" if base else commit)
    target = Target((name,), f"the {kind} {name}", base=base, commit=commit, intent=intent)
    return _diff_target(ctx, target, command)


def _diff_target(
    ctx: _Context, target: Target, command: tuple[str, ...], untracked: bool = False
) -> Target:
    find_repository(ctx.root, ctx.environ)
    try:
        text = ctx.git(*command, "-M", *ctx.words)
    except GitFailed:
        if target.spec:
            raise
        # there is no commit yet
        text = ctx.git("diff", "-M", "--cached", *ctx.words)
        target = replace(target, base="")
    spec = (*target.spec, *ctx.paths)
    target = replace(target, spec=spec, label=f"{target.label}{ctx.place}")
    diffs = parse_diff(text)
    if untracked:
        listed = ctx.git("ls-files", "--others", "--exclude-standard", "-z", *ctx.words)
        diffs += [FileDiff(name, is_new=True) for name in listed.split("\0") if name]
    return _filter_files(ctx, target, diffs)


def _pull_request_target(ctx: _Context, number: str) -> Target:
    """Return a pull request's changes. GitHub says which commits they are between; the clone must have both, since the
    changes are git's, and files are read from the newest one: in other files its findings would look fixed."""
    if not number.isdecimal() or not 0 < len(number) < 10 or int(number) < 1:
        raise UsageError(f"{number!r} is not the number of a pull request.", "For example: --pr 12")
    # GitHub's paths are relative to the repository
    ctx = replace(ctx, root=find_repository(ctx.root, ctx.environ))
    github = GitHub.connect(ctx.root, ctx.environ or {})
    pull = github.request("GET", f"pulls/{int(number)}")
    try:
        head = str(pull["head"]["sha"])
        newest_base = str(pull["base"]["sha"])
    except (KeyError, TypeError) as error:
        raise GitHubError(f"GitHub's answer about pull request {number} cannot be read.") from error
    try:
        commit = ctx.resolve(head)
    except GitFailed as error:
        hint = f"Run: git fetch origin pull/{int(number)}/head (in actions/checkout: ref: its head.sha)"
        raise BadInput(
            f"This clone lacks the newest commit of pull request {number} ({head[:12]}).", hint
        ) from error
    try:
        base = ctx.git("merge-base", "--end-of-options", newest_base, commit).strip()
    except GitFailed as error:
        hint = f"Run: git fetch --unshallow; git fetch origin {newest_base} (in actions/checkout: fetch-depth: 0)"
        raise BadInput(
            f"This clone lacks the commit that pull request {number} is compared with ({newest_base[:12]}).",
            hint,
        ) from error
    label = f"pull request {number} of {github.repository}"
    notes: list[str] = []
    earlier = PullState.load(github, int(number))
    try:
        earlier = earlier.with_resolutions(github, int(number))
    except GitHubError as error:  # the review itself does not need them
        notes.append(f"resolved threads could not be read: {error.message}")
    target = Target(
        ("--pr", number), label, notes=tuple(notes), base=base, commit=commit, pr=int(number), head=head,
        earlier=earlier, github=github, intent=f"{pull.get('title') or ''}\n{pull.get('body') or ''}".strip(),
    )  # fmt: skip
    return _diff_target(ctx, target, ("diff", base, commit))


def _filter_files(
    ctx: _Context,
    target: Target,
    diffs: Sequence[FileDiff],
    given_paths: Collection[str] | None = None,
) -> Target:
    """Return the target with the files that can be reviewed, read from the work tree if that contains exactly the files
    of its commit. `given_paths` are paths that the user gave one by one, which no rule skips, and None for diffs. A
    diff without a change passes. Raises BadInput when no file is left of paths, or of a merge in conflict."""
    is_diff = given_paths is None
    if is_diff and not diffs:
        note = f"There is nothing to review in {target.label}. {TARGET_HINT}"
        return replace(
            target, notes=(note,), commit="", sources=project_sources(ctx.root, ctx.barrier)
        )
    base = target.base if is_diff else "HEAD"
    # of the base, so that a change cannot hide itself
    attributes = _attributes_at(ctx, base, diffs)
    target = _with_sources(ctx, target, diffs)
    target = replace(target, include=(*ctx.include, *(given_paths or ())))
    sorted_files = _sort_files(target, diffs, attributes)
    notes = [*target.notes, *sorted_files.notes]
    if not sorted_files.reviewed and (notes or not is_diff):
        # a diff without code to read is reviewed, and passes
        reason = format_skips(sorted_files.skips) or "; ".join(notes) or "no files are there"
        raise BadInput(f"There is nothing to review in {target.label}: {reason}.", TARGET_HINT)
    changed_files = sorted_files.reviewed if is_diff else {}
    if base and is_diff:
        target.sources.base = Snapshot(partial(_check_out, ctx, base))
    target.sources.before = {
        path: diff.before(target.sources.get(path).lines)
        for path, diff in changed_files.items()
        if diff.hunks
    }
    return replace(
        target,
        files=tuple(sorted_files.reviewed),
        diffs=changed_files,
        notes=(*notes, *_name_unread(sorted_files.skips)),
        skips=tuple(sorted_files.skips),
        deleted=tuple(diff.path for diff in diffs if diff.status == "deleted"),
    )


def _attributes_at(
    ctx: _Context, base: str, diffs: Iterable[FileDiff]
) -> dict[str, dict[str, str]]:
    """Return git's attributes of each file at a commit; {} without a repository or that commit."""
    if base:
        with suppress(BadInput):
            paths = [diff.path for diff in diffs]
            return read_attributes(ctx.root, base, ATTRIBUTES, paths, ctx.environ)
    return {}


def _with_sources(ctx: _Context, target: Target, diffs: Sequence[FileDiff]) -> Target:
    """Return the target with the place that its files are read from: the work tree if it has them, else a snapshot."""
    commit = target.commit
    if commit and _has_checked_out(ctx, commit, diffs):
        commit = ""
    # git names the files in which the work tree differs from the index
    is_elsewhere = target.is_staged and ctx.git("diff", "--name-only", "--")
    is_snapshot = bool(commit or is_elsewhere)
    sources = _take_snapshot(ctx, commit) if is_snapshot else project_sources(ctx.root, ctx.barrier)
    return replace(target, commit=commit, sources=sources)


@dataclass(frozen=True, slots=True)
class _SortedFiles:
    """The files of a target: those to read, by path, those that a rule leaves out, and lines about others."""

    reviewed: dict[str, FileDiff]
    skips: list[SkippedFile]
    notes: list[str]


def _sort_files(
    target: Target, diffs: Sequence[FileDiff], attributes: Mapping[str, dict[str, str]]
) -> _SortedFiles:
    files = _SortedFiles({}, [], [])
    present = {diff.path for diff in diffs if diff.status != "deleted"}
    for diff in diffs:
        if diff.status == "deleted" and diff.path in present:
            continue  # git shows a file that became a link twice
        if diff.status == "conflict":
            files.notes.append(f"{diff.path} has merge conflicts: resolve them first")
            continue
        rule = skip_rule(diff, target.sources, attributes.get(diff.path, {}), target.include)
        if rule:
            files.skips.append(SkippedFile(diff.path, rule))
        else:
            files.reviewed[diff.path] = diff
    return files


def _name_unread(skips: Iterable[SkippedFile]) -> list[str]:
    """Return a line with the deleted files, none if there are none."""
    unread = [skip.path for skip in skips if skip.rule == "deleted"]
    if not unread:
        return []
    more = f" and {len(unread) - _MAX_NAMED} more" if len(unread) > _MAX_NAMED else ""
    return [f"deleted, without a text to read: {', '.join(unread[:_MAX_NAMED])}{more}"]


def _has_checked_out(ctx: _Context, commit: str, diffs: Iterable[FileDiff]) -> bool:
    """Return whether the work tree contains exactly the files of a commit, and none of the changed ones is missing."""
    if ctx.resolve("HEAD") != commit or ctx.git("diff", "--name-only", "HEAD", "--"):
        return False
    names = [diff.path for diff in diffs if diff.status in ("", "binary")]
    return all(os.path.lexists(ctx.root / name) for name in names)


def _take_snapshot(ctx: _Context, commit: str) -> Sources:
    """Return the files of a commit, or for "" of the index, in a folder of their own, which the sources remove."""
    sources = Sources(
        Path(mkdtemp(prefix="swecli-review-")).resolve(), is_snapshot=True, barrier=ctx.barrier
    )
    try:
        checkout_files(ctx.root, commit, sources.root, ctx.environ)
    except BaseException:
        sources.close()
        raise
    return sources


def _check_out(ctx: _Context, commit: str, into: Path) -> None:
    checkout_files(ctx.root, commit, into, ctx.environ)


def _path_target(ctx: _Context, folder: Path, arguments: Sequence[str]) -> Target:
    if outside := [
        word for word in arguments if not (folder / word).resolve().is_relative_to(ctx.root)
    ]:
        raise BadInput(
            f"{outside[0]!r} is outside of this project, {ctx.root}.",
            "Start swecli where the files are.",
        )
    words = [(folder / word).resolve().relative_to(ctx.root).as_posix() for word in arguments]
    given_paths = {word for word in words if (ctx.root / word).is_file()}
    below = (
        name
        for word in words
        if word not in given_paths
        for name in files_below(ctx.root, word, ctx.environ, SECONDS)
    )
    names = dict.fromkeys([*(word for word in words if word in given_paths), *below])
    target = Target(tuple(words), _label_of(words))
    return _filter_files(ctx, target, [FileDiff(name) for name in names], given_paths)


def _label_of(words: Sequence[str]) -> str:
    if list(words) == ["."]:
        return "the whole tree"
    more = " and more" if len(words) > 3 else ""
    return ", ".join(words[:3]) + more
