"""The one way this program asks git: read-only, and no program is started that somebody else has named. A repository's
configuration, its attributes and the environment can each name programs that git starts: filters, diff drivers, hooks,
monitors, signature checkers, helpers for the network. docs/adr/0024 has the list."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from swecli.config.paths import project_root
from swecli.models.errors import BadInput
from swecli.tools.processes import child_environment, find_program

SECONDS = 60.0
_LARGEST = 50_000_000  # bytes of one answer
_MOST_PATHS = 500  # on one command line
READING = frozenset(
    {"check-attr", "checkout-index", "diff", "ls-files", "merge-base", "read-tree", "remote", "rev-parse", "show"}
)
# Above every file, so that none of these starts anything: log.showSignature would start gpg.program.
_PINNED = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "log.showSignature": "false",
    "submodule.recurse": "false",
}  # fmt: skip
# and for our own questions: core.attributesFile may be a device that never ends
_OWN = {
    "core.attributesFile": "/dev/null", "core.quotePath": "false", "diff.relative": "false",
    "safe.bareRepository": "explicit",
}  # fmt: skip
# what a configuration may say otherwise of a diff; a submodule is not entered, its own configuration would hold there
_DIFF = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/",
    "--ignore-submodules=dirty", "--submodule=short", "-O/dev/null",
)  # fmt: skip
# a partial clone would fetch what it lacks, by any program its remote names
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
_OFFLINE = "Objects are missing, and swecli does not let git use the network. Run the git command yourself once."
_NOT_YOURS = "The folder is another user's. If you trust it: git config --global --add safe.directory DIR"
_HINTS = {"dubious ownership": _NOT_YOURS, "not allowed": _OFFLINE, "lazy fetching": _OFFLINE}


class GitFailed(BadInput):
    """git refused, for a reason that lies in what it was asked."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"git: {reason or 'it failed without a message'}.")


def run_git(folder: Path, *words: str, environ: Mapping[str, str] | None = None, index: str = "") -> str:
    """What git answers in that folder to one of the commands in `READING`, what is not UTF-8 replaced; it is ended
    after a minute or 50 MB, and reads the file `index` instead of the repository's. Raises GitFailed: git
    refuses, and BadInput: git is missing, too slow, writes too much, or does not trust the folder's owner."""
    if words[0] not in READING:
        raise ValueError(f"git {words[0]} is none of {', '.join(sorted(READING))}")
    top = project_root(folder)
    if not os.path.lexists(top / ".git"):
        raise GitFailed("not a git repository")
    program = find_program("git", environ, top)
    if program is None:
        raise BadInput("git is not installed.", "Name files instead: /review src/")
    env = _environment(environ, top) | ({"GIT_INDEX_FILE": index} if index else {})
    listed = _ask([program, "config", "--list", "--name-only", "-z"], folder, _settings(env, _OWN), SECONDS)
    extra = _DIFF if words[0] in ("diff", "show") else ()
    argv = [program, "--no-pager", words[0], *extra, *words[1:]]
    return _ask(argv, folder, _settings(env, _OWN | _no_filters(listed)), SECONDS).decode("utf-8", "replace")


def read_attributes(
    folder: Path, tree: str, names: Sequence[str], paths: Sequence[str], environ: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """What the `.gitattributes` of that commit, and no others, say of the paths: path → attribute → value. The commit's
    tree is read into an index of its own, outside of the repository. Raises BadInput."""
    top = project_root(folder)
    with _index_of(top, tree, environ) as index:
        found: dict[str, dict[str, str]] = {}
        for start in range(0, len(paths), _MOST_PATHS):
            some = paths[start : start + _MOST_PATHS]
            words = ("check-attr", "--cached", "-z", *names, "--", *some)
            cells = run_git(top, *words, environ=environ, index=index).split("\0")
            for path, name, value in zip(cells[::3], cells[1::3], cells[2::3], strict=False):
                if value != "unspecified":
                    found.setdefault(path, {})[name] = value
        return found


def checkout_files(folder: Path, commit: str, into: Path, environ: Mapping[str, str] | None = None) -> None:
    """Write the files of a commit into another folder, as they are stored: no filter is run. Raises BadInput."""
    top = project_root(folder)
    with _index_of(top, commit, environ) as index:
        run_git(top, "checkout-index", "--all", "--quiet", f"--prefix={into}/", environ=environ, index=index)


@contextmanager
def _index_of(top: Path, commit: str, environ: Mapping[str, str] | None) -> Iterator[str]:
    """An index of that commit's files, outside of the repository."""
    with tempfile.TemporaryDirectory() as own:
        tree = run_git(top, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}", environ=environ).strip()
        run_git(top, "read-tree", tree, environ=environ, index=f"{own}/index")
        yield f"{own}/index"


def find_repository(root: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The top of the repository. Raises BadInput where there is none."""
    try:
        return Path(run_git(root, "rev-parse", "--show-toplevel", environ=environ).rstrip("\n"))
    except GitFailed as error:
        if "not a git repository" not in error.message:
            raise
        raise BadInput("This is not a git repository.", "Name files or folders: /review src/ or /review .") from error


def _environment(environ: Mapping[str, str] | None, top: Path) -> dict[str, str]:
    """None of the caller's GIT_* variables, but for the index of a commit under way: `git commit -a` gives its hooks
    another one. The work tree is the folder that holds `.git`, whatever `core.worktree` says."""
    given = child_environment(environ)
    own = _ENVIRONMENT | {"GIT_WORK_TREE": str(top), "GIT_CEILING_DIRECTORIES": str(top.parent)}
    index = top / given.get("GIT_INDEX_FILE", "")
    if index.is_relative_to(top / ".git") and index.is_file():
        own["GIT_INDEX_FILE"] = str(index)
    return {name: value for name, value in given.items() if not name.startswith("GIT_")} | own


def _no_filters(listed: bytes) -> dict[str, str]:
    """Settings that turn off every filter the configuration has, wherever it has it from. git has no switch for all
    of them, and one that is `required` fails where it is only emptied."""
    keys = [key for key in os.fsdecode(listed).split("\0") if key.startswith("filter.") and key.count(".") > 1]
    ways = {"clean": "", "smudge": "", "process": "", "required": "false"}
    filters = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    return {f"{name}.{way}": value for name in filters for way, value in ways.items()}


def _settings(env: Mapping[str, str], more: dict[str, str]) -> dict[str, str]:
    """The environment with the pinned settings, and more, behind those that it brings."""
    count = env.get("GIT_CONFIG_COUNT", "")
    first, settings = int(count) if count.isdecimal() and len(count) < 5 else 0, _PINNED | more
    pins = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for index, (key, value) in enumerate(settings.items(), first):
        pins |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**env, **pins}


def _ask(argv: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float) -> bytes:
    """The output of a git process. Raises BadInput."""
    try:
        done = subprocess.run(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"git took longer than {seconds:g} s.", "Name files instead: /review src/") from error
    except OSError as error:
        raise BadInput(f"git cannot be started: {error.strerror}.", "See: swecli doctor") from error
    if len(done.stdout) > _LARGEST:
        raise BadInput(f"git's output is longer than {_LARGEST:,} bytes.", "Name fewer files.")
    reason = done.stderr.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("fatal: ").rstrip(".")
    if done.returncode and (hint := next((hint for part, hint in _HINTS.items() if part in reason), "")):
        raise BadInput(f"git: {reason}.", hint)
    if done.returncode:
        raise GitFailed(reason)
    return done.stdout


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


def read_only_environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    """The environment for a command that only reads: git starts no program, asks for nothing and fetches nothing."""
    return _settings(child_environment(environ), {}) | {
        "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ASKPASS": "", "CDPATH": "", "RIPGREP_CONFIG_PATH": "", "GREP_OPTIONS": "",
    }  # fmt: skip


def find_program_risk(folder: Path, environ: Mapping[str, str], *, diffs: bool, works: bool) -> str:
    """Why git may start a program in this folder; "" if nothing here makes it. The repository's own configuration is
    read without what it includes. `diffs`: a difference is shown, so drivers that the user's own configuration names
    count too. `works`: the work tree is looked at, submodules with it."""
    listed = _look(
        folder, read_only_environment(environ), "config", "--list", "--show-scope", "--no-includes", "--null"
    )
    if listed is None:
        return "git's configuration cannot be read"
    fields = listed.decode("utf-8", "replace").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key = entry.split("\n", 1)[0]  # section and name in lower case
        if scope in ("local", "worktree") and not _HARMLESS.fullmatch(key):
            return f"this repository's git configuration sets {key!r:.60}"
        if diffs and _DRIVER.fullmatch(key):
            return f"git's configuration names a program for differences ({key!r:.60})"
    if works:
        staged = _look(folder, read_only_environment(environ), "ls-files", "--stage", "-z")
        if staged is not None and re.search(rb"(?:^|\0)160000 ", staged):
            return "git would look into other repositories (submodules), whose configuration may name programs"
    return ""


def _look(folder: Path, env: Mapping[str, str], *words: str) -> bytes | None:
    """What `git config` or `git ls-files` answers in just this environment, which is that of a command to be judged;
    None where it fails. Neither starts a program once `core.fsmonitor` is pinned."""
    program = find_program("git", env, folder)
    try:
        return None if program is None else _ask([program, *words], folder, env, 5.0)
    except BadInput:
        return None
