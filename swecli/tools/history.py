"""Finds the commits of the last year that took something back, repaired it, or tell what a reviewer wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from swecli.models.past_commit import CommitKind, PastCommit
from swecli.tools.git import run_git

# Of one question: with 600 characters of each message about 15,000 tokens.
MAX_COMMITS = 60
_SINCE = "1 year ago"
_FORMAT = "%x1e%h%x1f%as%x1f%s%x1f%b%x1f%(trailers:only=true,unfold=true)%x1f"
_PATTERNS: Mapping[CommitKind, tuple[str, ...]] = {
    # what `git revert` writes into the message
    "revert": ("This reverts commit ",),
    # what `git commit --fixup` and `--squash` write in front of a subject
    "fixup": ("fixup! ", "squash! ", "amend! "),
    # trailers, as git's own guide for contributors and the Linux kernel's name them
    "fixes": ("Fixes: ",),
    "review": ("Reviewed-by: ", "Suggested-by: ", "Requested-by: ", "Reported-by: "),
}


def find_marked_commits(folder: Path) -> list[PastCommit]:
    """Return the marked commits of the last year that HEAD contains, newest first, at most `MAX_COMMITS` of them.
    Raises BadInput as `run_git` does."""
    words = ["log", f"--since={_SINCE}", f"--format={_FORMAT}", "--name-only", "--no-color"]
    words += ["--no-renames", f"--max-count={MAX_COMMITS}", "--fixed-strings"]
    marks = [mark for of_kind in _PATTERNS.values() for mark in of_kind]
    words += [f"--grep={mark}" for mark in marks]
    output = run_git(folder, *words)
    return [commit for record in output.split("\x1e")[1:] for commit in _parse(record)]


def _parse(record: str) -> Iterator[PastCommit]:
    """Yield the commit of one record of `_FORMAT`, if a mark stands where it belongs."""
    name, date, subject, body, trailers, files = record.split("\x1f", 5)
    kind = _kind_of(subject, body, trailers)
    # a trailer alone says that somebody looked at it, and not what he wanted
    text = body.removesuffix(trailers).strip() if kind == "review" else body.strip()
    if kind and (kind != "review" or text):
        paths = tuple(line for line in files.strip().split("\n") if line)
        yield PastCommit(name, date, kind, subject, text, paths)


def _kind_of(subject: str, body: str, trailers: str) -> CommitKind | None:
    """Return why a commit is of interest, None if a mark stands only somewhere in its text."""
    if any(line.startswith(_PATTERNS["revert"]) for line in body.split("\n")):
        return "revert"
    if subject.startswith(_PATTERNS["fixup"]):
        return "fixup"
    lines = trailers.split("\n")
    if any(line.startswith(_PATTERNS["fixes"]) for line in lines):
        return "fixes"
    if any(line.startswith(_PATTERNS["review"]) for line in lines):
        return "review"
    return None
