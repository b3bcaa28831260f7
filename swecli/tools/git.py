"""Run git read-only, without starting any program that a repository names. Configuration, attributes and environment
can name programs for git to start: filters, diff drivers, hooks, monitors, signature checkers, network helpers (see
docs/adr/0024)."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path

from swecli.config.paths import project_root
from swecli.descendants import count_switches
from swecli.models.errors import BadInput
from swecli.regular_files import read_regular
from swecli.tools.environment import child_environment, own_environment
from swecli.tools.own_programs import find_program
from swecli.values import dataclass

SECONDS = 60.0
_QUERY_SECONDS = 5.0
_PATIENCE = 1.0  # seconds in which a git that has work to do is scheduled many times
_STUCK_SECONDS = 60.0  # for which git is not started again where it did nothing but wait
_stuck: dict[Path, float] = {}  # the folders where it did, and when
_MAX_OUTPUT = 50_000_000  # bytes
_MAX_PATHS = 500  # on one command line
_SUBJECTS = 3
_READ_COMMANDS = frozenset(
    {
        "check-attr",
        "checkout-index",
        "diff",
        "for-each-ref",
        "log",
        "ls-files",
        "merge-base",
        "read-tree",
        "remote",
        "rev-list",
        "rev-parse",
        "show",
        "status",
        "var",
    }
)
# Overrides of every configuration file for settings that start programs; log.showSignature starts gpg.program.
_PINNED = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "log.showSignature": "false",
    "submodule.recurse": "false", "diff.submodule": "short",
}  # fmt: skip
# Overrides for swecli's own commands; core.attributesFile may be a device that never ends.
_OWN_SETTINGS = {
    "core.attributesFile": "/dev/null", "core.quotePath": "false", "diff.relative": "false",
    "safe.bareRepository": "explicit",
}  # fmt: skip
# Options of diffs that a configuration may change. Submodules are not entered: their own configuration would apply.
_DIFF = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/",
    "--ignore-submodules=dirty", "--submodule=short", "-O/dev/null",
)  # fmt: skip
# A partial clone would fetch missing objects, with any program that its remote names.
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # status would write to the index
    "LC_ALL": "C",
}
_OFFLINE = "Objects are missing, and swecli does not let git use the network. Run the git command yourself once."
_NOT_YOURS = (
    "The folder is another user's. If you trust it: git config --global --add safe.directory DIR"
)
_HINTS = {"dubious ownership": _NOT_YOURS, "not allowed": _OFFLINE, "lazy fetching": _OFFLINE}


class GitFailed(BadInput):
    """git rejected the command."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"git: {reason or 'it failed without a message'}.")


def run_git(
    folder: Path,
    *words: str,
    environ: Mapping[str, str] | None = None,
    index: str = "",
    seconds: float = SECONDS,
    max_bytes: int = _MAX_OUTPUT,
) -> str:
    """Return the output of a git command that only reads, with invalid UTF-8 replaced. `index` is an index file to use
    instead of the repository's. Raises GitFailed if git fails, BadInput if git is missing, takes longer than `seconds`,
    prints more than `max_bytes`, or does not trust the folder's owner."""
    if words[0] not in _READ_COMMANDS:
        raise ValueError(f"git {words[0]} is not one of {', '.join(sorted(_READ_COMMANDS))}")
    root = project_root(folder)
    if not os.path.lexists(root / ".git"):
        raise GitFailed("not a git repository")
    program = find_program("git", environ, root)
    if program is None:
        raise BadInput("git is not installed.", "Name files instead: /review src/")
    env = _environment(environ, root) | ({"GIT_INDEX_FILE": index} if index else {})
    listing = [program, "config", "--list", "--name-only", "-z"]
    keys = _run(listing, folder, _settings(env, _OWN_SETTINGS), seconds)
    extra = _DIFF if words[0] in ("diff", "show") else ()
    argv = [program, "--no-pager", words[0], *extra, *words[1:]]
    settings = _settings(env, _OWN_SETTINGS | _disable_filters(keys))
    return _run(argv, folder, settings, seconds, max_bytes).decode("utf-8", "replace")


def first_commit(folder: Path) -> str:
    """Return the id of the commit that the history of the checked out branch began with, "" before there is one. What
    was merged in from another repository does not count. Raises BadInput as `run_git` does."""
    words = ("rev-list", "--max-parents=0", "--first-parent", "HEAD")
    try:
        output = run_git(folder, *words, seconds=_QUERY_SECONDS)
    except GitFailed:
        return ""
    return output.strip()


# what git has in its folder while an operation waits for the user
_OPERATIONS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_FIELDS_OF_CONFLICT = 10  # before the path, in the second format of `git status --porcelain`


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """Where a work tree stands."""

    commit: str  # its id, "" before the first one
    branch: str  # "" for a detached commit
    changed_entries: tuple[str, ...]  # files that differ from the commit, or are new
    subjects: tuple[str, ...]  # of the last commits, newest first
    conflicts: tuple[str, ...] = ()  # files with a conflict that is not resolved
    operation: str = ""  # that has stopped halfway, "" for none


def read_state(
    folder: Path,
    environ: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    before: RepositoryState | None = None,
) -> RepositoryState:
    """Return the state of a folder's repository. The subjects are read only if `before` is at another commit. Raises
    BadInput as `run_git` does."""
    words = (
        "status",
        "--porcelain=v2",
        "--branch",
        "--no-renames",
        "--untracked-files=normal",  # whatever status.showUntrackedFiles is: "clean" would not be true
        "-z",
        "--ignore-submodules=dirty",
    )
    branch = ""
    commit = ""
    changed_entries: list[str] = []
    for entry in run_git(folder, *words, environ=environ, seconds=seconds).split("\0"):
        if entry.startswith("# branch.head "):
            branch = entry.removeprefix("# branch.head ").removeprefix("(detached)")
        elif entry.startswith("# branch.oid "):
            commit = entry.removeprefix("# branch.oid ").removeprefix("(initial)")
        elif entry and not entry.startswith("#"):
            changed_entries.append(entry)
    conflicts = tuple(
        entry.split(" ", _FIELDS_OF_CONFLICT)[-1]
        for entry in changed_entries
        if entry.startswith("u ")
    )
    subjects: list[str] = []
    if before is not None and before.commit == commit:
        subjects = list(before.subjects)
    elif commit:
        log = ("log", f"--max-count={_SUBJECTS}", "--no-color", "--format=%s", "-z")
        subjects = run_git(folder, *log, environ=environ, seconds=seconds).split("\0")
    operation = _find_operation(Path(_git_folder(project_root(folder))))
    recent_subjects = tuple(filter(None, subjects))
    return RepositoryState(
        commit, branch, tuple(changed_entries), recent_subjects, conflicts, operation
    )


def _find_operation(folder: Path) -> str:
    """Return what git is in the middle of, as `git status` tells it, "" for nothing."""
    for name, operation in _OPERATIONS.items():
        if not os.path.lexists(folder / name):
            continue
        with suppress(OSError):
            branch = read_regular(folder / name / "head-name").decode("utf-8", "replace").strip()
            return f"{operation} of {branch.removeprefix('refs/heads/')}"
        return operation
    return ""


@dataclass(frozen=True, slots=True)
class RepositoryMemory:
    """What a repository holds besides the files of its work tree. Empty if there is no repository."""

    # the id of the present commit, "" before the first one
    head: str = ""
    # its branch, `refs/heads/main`, "" for a detached commit and before the first one
    branch: str = ""
    # the object ids of branches, tags and other references, by their full names
    references: Mapping[str, str] = field(default_factory=dict)
    # the entries of the index, `mode id stage`, by path from the top of the work tree
    index: Mapping[str, str] = field(default_factory=dict)
    # of the index file, () if it is not known: one with the same stamp is not read again
    index_stamp: tuple[int, ...] = ()


def read_memory(
    folder: Path,
    environ: Mapping[str, str] | None = None,
    before: RepositoryMemory | None = None,
) -> RepositoryMemory | None:
    """Return what the folder's repository holds besides files; None if git cannot read it. The index is taken from
    `before` if its file has not changed since. What is read starts no program: neither files nor filters take part."""
    root = project_root(folder)
    if not os.path.lexists(root / ".git"):
        return RepositoryMemory()
    program = find_program("git", environ, root)
    if program is None:
        return None
    env = _settings(_environment(environ, root), _OWN_SETTINGS)
    ask = partial(_read_words, program, root, env)
    try:
        branch, references = _parse_references(ask("for-each-ref", f"--format={_REFERENCE}"))
        head = references.get(branch, "")
        if not branch:
            with suppress(GitFailed):  # there is no commit yet
                head = ask("rev-parse", "--verify", "--quiet", "HEAD").strip()
        stamp = _stamp_of_index(root)
        if before is not None and stamp and stamp == before.index_stamp:
            return RepositoryMemory(head, branch, references, before.index, stamp)
        index = _parse_index(ask("ls-files", "--stage", "-z"))
        return RepositoryMemory(head, branch, references, index, stamp)
    except (BadInput, OSError):
        return None


_REFERENCE = "%(HEAD)%(objectname) %(refname)"
_SETTLED = 50_000_000  # ns after which a change of a file is sure to get another time


def _read_words(program: str, root: Path, env: Mapping[str, str], *words: str) -> str:
    """Return the output of a git command, with bytes that are not UTF-8 as in the names of files. Raises BadInput."""
    return os.fsdecode(_run([program, "--no-pager", *words], root, env, _QUERY_SECONDS))


def _parse_references(output: str) -> tuple[str, dict[str, str]]:
    """Return the present branch and the ids of all references from lines in the format `_REFERENCE`."""
    branch = ""
    references: dict[str, str] = {}
    for line in output.splitlines():
        mark = line[:1]
        commit, _, name = line[1:].partition(" ")
        references[name] = commit
        if mark == "*":
            branch = name
    return branch, references


def _parse_index(output: str) -> dict[str, str]:
    """Return the entries of `ls-files --stage -z` by path; of a conflict the last of its stages."""
    entries = (entry.partition("\t") for entry in output.split("\0") if entry)
    return {path: entry for entry, _, path in entries}


def _stamp_of_index(root: Path) -> tuple[int, ...]:
    """Return what changes when the index does; () if it changed just now, or the repository's folder is elsewhere."""
    try:
        status = (root / ".git" / "index").stat()
    except OSError:
        return ()
    if time.time_ns() - status.st_mtime_ns < _SETTLED:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def read_attributes(
    folder: Path,
    tree: str,
    names: Sequence[str],
    paths: Sequence[str],
    environ: Mapping[str, str] | None = None,
) -> dict[str, dict[str, str]]:
    """Return the attributes that a commit's `.gitattributes` files, and no others, give to paths: path → attribute →
    value. Raises BadInput."""
    root = project_root(folder)
    with _temporary_index(root, tree, environ) as index:
        attributes: dict[str, dict[str, str]] = {}
        for start in range(0, len(paths), _MAX_PATHS):
            batch = paths[start : start + _MAX_PATHS]
            words = ("check-attr", "--cached", "-z", *names, "--", *batch)
            cells = run_git(root, *words, environ=environ, index=index).split("\0")
            for path, name, value in zip(cells[::3], cells[1::3], cells[2::3], strict=False):
                if value != "unspecified":
                    attributes.setdefault(path, {})[name] = value
        return attributes


def checkout_files(
    folder: Path, commit: str, into: Path, environ: Mapping[str, str] | None = None
) -> None:
    """Write the files of a commit, or for "" of the index, into another folder, as stored, without running filters.
    Raises BadInput."""
    root = project_root(folder)
    words = ("checkout-index", "--all", "--quiet", f"--prefix={into}/")
    if not commit:
        run_git(root, *words, environ=environ)
        return
    with _temporary_index(root, commit, environ) as index:
        run_git(root, *words, environ=environ, index=index)


@contextmanager
def _temporary_index(root: Path, commit: str, environ: Mapping[str, str] | None) -> Iterator[str]:
    """Yield the path of an index file of the commit, outside the repository."""
    with tempfile.TemporaryDirectory() as folder:
        tree = run_git(
            root, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}", environ=environ
        ).strip()
        run_git(root, "read-tree", tree, environ=environ, index=f"{folder}/index")
        yield f"{folder}/index"


def find_repository(root: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Return the top folder of the repository. Raises BadInput outside of one."""
    try:
        return Path(run_git(root, "rev-parse", "--show-toplevel", environ=environ).rstrip("\n"))
    except GitFailed as error:
        if "not a git repository" not in error.message:
            raise
        raise BadInput(
            "This is not a git repository.", "Name files or folders: /review src/ or /review ."
        ) from error


def _environment(environ: Mapping[str, str] | None, root: Path) -> dict[str, str]:
    """Return the environment without GIT_* variables, except for the index of a commit in progress, which `git commit
    -a` passes to hooks. The work tree is the folder with `.git`, regardless of `core.worktree`."""
    inherited = child_environment(environ)
    environment = _ENVIRONMENT | {
        "GIT_WORK_TREE": str(root),
        "GIT_CEILING_DIRECTORIES": str(root.parent),
    }
    # not Path.resolve: it raises for a link to itself
    index = Path(os.path.realpath(root / own_environment(environ).get("GIT_INDEX_FILE", "")))
    if index.is_relative_to(_git_folder(root)) and index.is_file():
        environment["GIT_INDEX_FILE"] = str(index)
    return {
        name: value for name, value in inherited.items() if not name.startswith("GIT_")
    } | environment


def _git_folder(root: Path) -> str:
    """Return the real path of a repository's git folder; that of `.git` itself if it names none, which git complains
    of."""
    link = root / ".git"
    if link.is_file():  # a linked work tree or a submodule: `gitdir: PATH`
        with suppress(OSError, ValueError):
            target = os.fsdecode(read_regular(link))
            return os.path.realpath(root / target.removeprefix("gitdir:").strip("\n "))
    return os.path.realpath(link)


def _disable_filters(output: bytes) -> dict[str, str]:
    """Return settings that disable every configured filter. git has no option for all of them, and a `required` filter
    fails if only its command is empty."""
    keys = [
        key
        for key in os.fsdecode(output).split("\0")
        if key.startswith("filter.") and key.count(".") > 1
    ]
    ways = {"clean": "", "smudge": "", "process": "", "required": "false"}
    filters = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    return {f"{name}.{way}": value for name in filters for way, value in ways.items()}


def _settings(env: Mapping[str, str], more: dict[str, str]) -> dict[str, str]:
    """Return the environment with `_PINNED` and `more` settings appended to those it already has."""
    count = env.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() and len(count) < 5 else 0
    settings = _PINNED | more
    pins = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for index, (key, value) in enumerate(settings.items(), first):
        pins |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**env, **pins}


def _run(
    argv: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    seconds: float,
    max_bytes: int = _MAX_OUTPUT,
) -> bytes:
    """Return the output of a git process. Raises BadInput."""
    if _has_stuck(folder):
        raise _stuck_error()
    try:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise BadInput(f"git cannot be started: {error.strerror}.", "See: swecli doctor") from error
    with process:
        try:
            output, errors = _communicate(process, folder, seconds)
        finally:
            process.kill()
    if len(output) > max_bytes:
        raise BadInput(f"git's output is longer than {max_bytes:,} bytes.", "Name fewer files.")
    reason = (
        errors.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("fatal: ").rstrip(".")
    )
    if process.returncode and (
        hint := next((hint for part, hint in _HINTS.items() if part in reason), "")
    ):
        raise BadInput(f"git: {reason}.", hint)
    if process.returncode:
        raise GitFailed(reason)
    return output


def _communicate(
    process: subprocess.Popen[bytes], folder: Path, seconds: float
) -> tuple[bytes, bytes]:
    """Return what a git process prints, and its errors. Raises BadInput if it takes longer than `seconds`, or does
    nothing but wait: its settings can name a pipe, or a repository hold one, that nobody writes to."""
    until = time.monotonic() + seconds
    switches = -1
    while True:
        rest = until - time.monotonic()
        try:
            return process.communicate(timeout=max(0.0, min(rest, _PATIENCE)))
        except subprocess.TimeoutExpired as error:
            if rest <= _PATIENCE:
                reason = f"git took longer than {seconds:g} s."
                raise BadInput(reason, "Name files instead: /review src/") from error
        before = switches
        switches = count_switches(process.pid)
        if switches == before != -1:
            _stuck[folder] = time.monotonic()
            raise _stuck_error()


def _has_stuck(folder: Path) -> bool:
    return time.monotonic() - _stuck.get(folder, -_STUCK_SECONDS) < _STUCK_SECONDS


def _stuck_error() -> BadInput:
    return BadInput(
        "git waits for a file that gives no answer, such as a pipe.",
        "Look at .git/config and .git/info: what do they name?",
    )


# Keys of a repository's own configuration that start no program; any other needs approval.
# compiled with the first command that is checked
_HARMLESS = (
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|"
    r"safecrlf|quotepath|abbrev|protecthfs|protectntfs|compression|longpaths|untrackedcache|checkstat|trustctime|"
    r"sharedrepository|whitespace|commentchar|preloadindex|splitindex|sparsecheckout|sparsecheckoutcone|fscache)|"
    r"(?:branch|color|column|user|author|committer|pull|push|fetch|init|advice|rerere|index|pack|gc|status|blame|versionsort|"
    r"url|http|submodule|gui|lfs|github|gitflow|commit|tag|feature|rebase|log|stash|worktree|checkout|clean)\..*|"
    r"remote\..*\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|promisor|partialclonefilter|"
    r"gh-resolved|followremotehead)|"
    r"diff\.(?!external|tool|guitool|orderfile)[a-z]+|merge\.(?!tool|guitool|default)[a-z]+|diff\..*\.xfuncname|"
    r"extensions\.(?:objectformat|refstorage|worktreeconfig|partialclone|relativeworktrees|compatobjectformat)"
)
_DRIVER = r"diff\.external|diff\..*\.(?:command|textconv)"


# Variables that make a shell or a program run or load something, write a trace, or read its words in another way.
_LOADS = re.compile(
    r"BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|GLOBIGNORE|POSIXLY_CORRECT|PERL5?LIB|PERL5OPT|PERL5DB|NODE_OPTIONS|"
    r"MAGIC|GIT_TRACE.*|GIT_EXTERNAL_DIFF|GIT_DIFF_OPTS|GIT_EXEC_PATH|GIT_(?:LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS"
)
_LIBRARIES = re.compile(r"LD_(?:LIBRARY_PATH|PRELOAD|AUDIT)|DYLD_.*")


def _loads_code(name: str, value: str) -> bool:
    """Return whether a variable makes a read-only command do more; libraries may only be loaded from absolute paths."""
    if _LIBRARIES.fullmatch(name):
        return not all(part.startswith("/") for part in re.split(r"[:\s]", value))
    return _LOADS.fullmatch(name) is not None


def read_only_environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment for a read-only command: git starts no program, asks nothing and fetches nothing."""
    inherited = child_environment(environ)
    environment = {name: value for name, value in inherited.items() if not _loads_code(name, value)}
    # the automatic refresh writes to the index
    return _settings(environment, {"diff.autoRefreshIndex": "false"}) | {
        "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ASKPASS": "", "CDPATH": "", "RIPGREP_CONFIG_PATH": "", "GREP_OPTIONS": "",
    }  # fmt: skip


def shown_paths(
    folder: Path, environ: Mapping[str, str], name: Sequence[str], words: Sequence[str]
) -> list[str] | None:
    """Return the paths, from the top of the repository, whose contents a harmless git command would show: git
    names them itself, given the same words. None if they are not known."""
    env = read_only_environment(environ)
    if name[0] == "cat-file":  # a commit, a tag, or a folder's names
        return []
    listed = _start(folder, env, _naming_command(name, words), _MAX_NAMES)
    if listed is not None and listed[0] in (0, 1):  # 1: differences, or no match
        names = os.fsdecode(listed[1]).split("\0")
        # `git grep` writes revision:path
        return [piece for path in names for piece in {path, path.partition(":")[2]} if piece]
    failed = _start(folder, env, [*name, *words], 1)
    if failed is None:
        return None
    exit_code, output = failed
    shows_nothing = exit_code != 0 and not output
    return [] if shows_nothing else None


def _naming_command(name: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return the git command that lists the paths whose contents the given one would show."""
    behind = words.index("--") if "--" in words else len(words)
    # --graph would draw between the names
    before = [word for word in words[:behind] if word != "--graph"]
    if name[0] == "grep":
        return [*name, "--files-with-matches", "--null", "--full-name", *before, *words[behind:]]
    recursive = ["-r"] if name[0] == "diff-tree" else []  # which -p implies
    return [*name, *before, *_NAMES_ONLY, *recursive, *words[behind:]]


_NAMES_ONLY = (
    "--name-only", "-z", "--no-renames", "--no-relative", "--no-color", "--format=",
)  # fmt: skip
_MAX_NAMES = 2_000_000  # bytes


def names_content(folder: Path, environ: Mapping[str, str], word: str) -> bool:
    """Return whether a word, or an end of a range, is the id of a file's content, or a tag of one, which has no path to
    check."""
    env = read_only_environment(environ)
    for piece in re.split(r"\.\.\.?", word):
        name = re.split(r"[\^~]", piece.removeprefix("^"), maxsplit=1)[0]
        if not name or name.startswith("-") or ":" in name:
            continue
        kind = _query(folder, env, "cat-file", "-t", f"{name}^{{}}") or b""
        if kind.strip() == b"blob":
            return True
    return False


def _start(
    folder: Path, env: Mapping[str, str], words: Sequence[str], limit: int
) -> tuple[int, bytes] | None:
    """Return the exit code and at most `limit` bytes of the output of a git command; None if it cannot be started,
    takes too long or prints more."""
    program = find_program("git", env, folder)
    if program is None or _has_stuck(folder):
        return None
    with subprocess.Popen(
        [program, "--no-pager", *words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        timer = threading.Timer(_QUERY_SECONDS, process.kill)
        timer.start()
        data = process.stdout.read(limit + 1)
        if len(data) > limit:
            process.kill()
        code = process.wait()
        timer.cancel()
    return None if code < 0 or len(data) > limit else (code, data)


def find_program_risk(
    folder: Path, environ: Mapping[str, str], *, diffs: bool, work_tree: bool
) -> str:
    """Return why git may start a program in this folder, "" if it does not. The repository's configuration is read
    without its includes. `diffs`: the command shows a diff, so the user's own diff drivers count too. `work_tree`: the
    command reads the work tree, and with it submodules."""
    env = read_only_environment(environ)
    listed = _query(folder, env, "config", "--list", "--show-scope", "--no-includes", "--null")
    if listed is None:
        return "git's configuration cannot be read"
    fields = listed.decode("utf-8", "replace").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key = entry.split("\n", 1)[0]  # section and name in lower case
        if scope in ("local", "worktree") and not re.fullmatch(_HARMLESS, key, re.DOTALL):
            return f"this repository's git configuration sets {key!r:.60}"
        if diffs and re.fullmatch(_DRIVER, key, re.DOTALL):
            return f"git's configuration names a program for differences ({key!r:.60})"
    if work_tree:
        staged = _query(folder, env, "ls-files", "--stage", "-z")
        if staged is not None and re.search(rb"(?:^|\0)160000 ", staged):
            return "git would look into other repositories (submodules), whose configuration may name programs"
    return ""


def _query(folder: Path, env: Mapping[str, str], *words: str) -> bytes | None:
    """Return the output of `git config` or `git ls-files` in the environment of the command to check, None on failure.
    Neither starts a program when `core.fsmonitor` is overridden."""
    program = find_program("git", env, folder)
    try:
        return None if program is None else _run([program, *words], folder, env, _QUERY_SECONDS)
    except BadInput:
        return None
