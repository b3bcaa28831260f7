"""What a repository's configuration could make git start, looked at before git runs unasked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from swecli.tools.git import look
from swecli.tools.limits import one_line
from swecli.tools.processes import child_environment

# Everything else in the repository's own configuration is asked about, by its name.
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|"
    r"safecrlf|quotepath|abbrev|protecthfs|protectntfs|compression|longpaths|untrackedcache|checkstat|trustctime|"
    r"sharedrepository|whitespace|commentchar|preloadindex|splitindex|sparsecheckout|sparsecheckoutcone|fscache)|"
    r"(?:branch|color|column|user|author|committer|pull|push|fetch|init|advice|rerere|index|pack|gc|status|blame|versionsort|"
    r"url|http|submodule|gui|lfs|github|gitflow|commit|tag|format|feature|rebase|log|stash|worktree|checkout|clean)\..*|"
    r"remote\..*\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|promisor|partialclonefilter|"
    r"gh-resolved|followremotehead)|"
    r"diff\.(?!external|tool|guitool|orderfile)[a-z]+|merge\.(?!tool|guitool|default)[a-z]+|diff\..*\.xfuncname|"
    r"extensions\.(?:objectformat|refstorage|worktreeconfig|partialclone|relativeworktrees|compatobjectformat)",
    re.DOTALL,
)
_DRIVER = re.compile(r"diff\.external|diff\..*\.(?:command|textconv)", re.DOTALL)
# Pinned above every file: none of these starts anything then.
_PINS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}


def pinned(environ: Mapping[str, str] | None) -> dict[str, str]:
    """The environment for a command that only reads: git starts no program, asks for nothing and fetches nothing."""
    given = child_environment(environ)
    count = given.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() and len(count) < 5 else 0
    pins: dict[str, str] = {}
    for index, (key, value) in enumerate(_PINS.items(), first):
        pins |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return given | pins | {
        "GIT_CONFIG_COUNT": str(first + len(_PINS)), "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "", "CDPATH": "", "RIPGREP_CONFIG_PATH": "", "GREP_OPTIONS": "",
    }  # fmt: skip


def names_programs(folder: Path, environ: Mapping[str, str], *, diffs: bool, works: bool) -> str:
    """Why git may start a program in this folder; "" if nothing here makes it.

    The repository's own configuration is read without what it includes. `diffs`: a difference is shown, so drivers
    that the user's own configuration names count too. `works`: the work tree is looked at, submodules with it.
    """
    listed = look(folder, pinned(environ), "config", "--list", "--show-scope", "--no-includes", "--null")
    if listed is None:
        return "git's configuration cannot be read"
    for scope, key in _keys(listed):
        if scope in ("local", "worktree") and not _HARMLESS.fullmatch(key):
            return f"this repository's git configuration sets {one_line(key, 60)}"
        if diffs and _DRIVER.fullmatch(key):
            return f"git's configuration names a program for differences ({one_line(key, 60)})"
    if works:
        staged = look(folder, pinned(environ), "ls-files", "--stage", "-z")
        if staged is not None and re.search(rb"(?:^|\0)160000 ", staged):
            return "git would look into other repositories (submodules), whose configuration may name programs"
    return ""


def _keys(listed: bytes) -> Iterator[tuple[str, str]]:
    """(scope, key) of each entry; section and name in lower case."""
    fields = listed.decode("utf-8", "replace").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        yield scope, entry.split("\n", 1)[0]
