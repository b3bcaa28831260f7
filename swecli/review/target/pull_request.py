"""A pull request as a target: its changes from GitHub, its files from the checkout at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.models.errors import BadInput, UsageError
from swecli.review.target.diffs import FileDiff, read_hunks
from swecli.review.target.github import GitHub, GitHubFailed, connect
from swecli.review.target.pull_state import read_state
from swecli.review.target.targets import Setting, Target, find_target, of_diffs
from swecli.tools.git import GitFailed, need_repository, run_git


def find_any(root: Path, spec: Sequence[str], environ: Mapping[str, str], include: Sequence[str] = ()) -> Target:
    """The target these words name, `--pr N` too; see `find_target` and `pull_target` for what is raised."""
    if spec[:1] not in (("--pr",), ["--pr"]):
        return find_target(root, spec, environ, include)
    if len(spec) != 2:
        raise UsageError("--pr takes one number.", "For example: --pr 12")
    return pull_target(root, spec[1], environ, include)


def pull_target(root: Path, number: str, environ: Mapping[str, str], include: Sequence[str] = ()) -> Target:
    """The files of a pull request. Raises UsageError, BadInput, GitHubFailed."""
    if not number.isdecimal() or not 0 < len(number) < 10 or int(number) < 1:
        raise UsageError(f"{number!r} is no number of a pull request.", "For example: --pr 12")
    root = need_repository(root, environ)  # GitHub's paths begin there
    github = connect(root, environ)
    pull = github.get(f"pulls/{int(number)}")
    head = str(pull["head"]["sha"]) if isinstance(pull, dict) and "head" in pull else ""
    if not head:
        raise GitHubFailed(f"GitHub's answer about pull request {number} cannot be read.")
    diffs = pull_diffs(github, int(number))
    if not diffs:
        raise BadInput(f"Pull request {number} changes nothing.", "Name another.")
    base = str((pull.get("base") or {}).get("sha") or "")
    named = Target(("--pr", number), f"pull request {number} of {github.repository}", (), base=base)
    target = of_diffs(Setting(root, environ, tuple(include)), named, list(diffs.values()))
    notes = [] if _checked_out(root, environ) == head else [
        f"the checkout is not the newest commit of the pull request ({head[:12]}): lines may differ"
    ]  # fmt: skip
    return replace(
        target, notes=(*notes, *target.notes), pr=int(number), head=head, earlier=read_state(github, int(number))
    )


def pull_diffs(github: GitHub, number: int) -> dict[str, FileDiff]:
    """The changes by path, as GitHub will compare comments with."""
    return {str(row["filename"]): _diff(row) for row in github.pages(f"pulls/{number}/files")}


def _diff(row: dict[str, Any]) -> FileDiff:
    patch = str(row.get("patch") or "")
    path = str(row["filename"])
    diff = FileDiff(path, patch, str(row.get("previous_filename") or ""))
    diff.what = "deleted" if row.get("status") == "removed" else ""
    # without a patch it is binary or too large for GitHub to show: it may still be read
    read_hunks(patch, diff)
    return diff


def _checked_out(root: Path, environ: Mapping[str, str]) -> str:
    try:
        return run_git(root, "rev-parse", "HEAD", environ=environ).strip()
    except GitFailed:
        return ""
