"""Test running git safely in a hostile repository, which names a program wherever git would run one."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.repl.input.completer import _list_paths
from swecli.review.target.github import GitHub
from swecli.review.target.targets import resolve_target
from swecli.tools.git import _ENVIRONMENT, GitFailed, find_repository, run_git
from tests.support.project import make_project

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Run git as a user does, with the user's own configuration."""
    done = subprocess.run(
        ["git", *WHO, *arguments],
        cwd=folder,
        input=stdin,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


@pytest.fixture
def mark() -> Path:
    return Path("started").resolve()


@pytest.fixture
def program(mark: Path) -> str:
    """Create a program that appends to the mark file when it is run."""
    path = Path("program").resolve()
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> "{mark}"\ncat 2>/dev/null\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def make_changes(root: Path) -> None:
    """Create two branches, a merge, and a staged, a changed and a new file, so that every command finds something."""
    git(root, "checkout", "-qb", "other", "HEAD")
    (root / "README.md").write_text("of the other branch\n")
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "-")
    (root / "pyproject.toml").write_text("# of this branch\n")
    git(root, "commit", "-qam", "mine")
    git(root, "merge", "-q", "--no-edit", "other")
    (root / "README.md").write_text("staged\n")
    git(root, "add", "README.md")
    (root / "shop" / "prices.py").write_text("TAX = 0.2\n")
    (root / "new.py").write_text("")


# every use of git, by the code that makes it
GIT_USES: dict[str, Callable[[Path], object]] = {
    "uncommitted changes": lambda root: resolve_target(root, ()),
    "staged changes": lambda root: resolve_target(root, ("--staged",)),
    "a branch": lambda root: resolve_target(root, ("--base", "other")),
    "a commit": lambda root: resolve_target(root, ("HEAD~1",)),
    "a merge": lambda root: run_git(root, "show", "HEAD"),
    "a range": lambda root: resolve_target(root, ("HEAD~1..HEAD",)),
    "paths": lambda root: resolve_target(root, ("shop",)),
    "the repository on GitHub": lambda root: GitHub.connect(root, {"PATH": os.environ["PATH"]}),
}
SETTINGS = [
    "core.fsmonitor", "core.pager", "pager.diff", "pager.show", "core.editor", "core.sshCommand", "core.askPass",
    "core.alternateRefsCommand", "credential.helper", "diff.external", "diff.own.command", "diff.own.textconv",
    "diff.guitool", "interactive.diffFilter", "filter.own.clean", "filter.own.smudge", "filter.own.process",
    "filter.a.b c.clean", "filter..process", "gpg.program", "gpg.ssh.program", "merge.own.driver", "alias.diff",
    "alias.show", "alias.ls-files", "uploadpack.packObjectsHook", "sequence.editor",
]  # fmt: skip
HOOKS = (
    "post-index-change",
    "fsmonitor-watchman",
    "reference-transaction",
    "post-checkout",
    "pre-auto-gc",
)


def make_hostile(root: Path, program: str) -> None:
    """Name the program wherever a repository can name one, including in an included file."""
    git(root, "remote", "add", "origin", "https://github.com/a/b.git")
    for name in SETTINGS:
        git(root, "config", name, program)
    for name in (
        "filter.own.required",
        "log.showSignature",
        "submodule.recurse",
        "core.untrackedCache",
    ):
        git(root, "config", name, "true")
    git(root, "config", "filter.a.b c.required", "true")
    (root / "included").write_text(
        f'[filter "far"]\n\tclean = {program} included\n\trequired = true\n'
    )
    git(root, "config", "include.path", "../included")
    lines = [
        "README.md filter=own diff=own merge=own",
        '*.py filter="a.b c"',
        "new.py filter=",
        "*.toml filter=far diff=own",
    ]
    (root / ".gitattributes").write_text("\n".join(lines) + "\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("shop/* filter=own diff=own\n")
    for name in HOOKS:
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_bytes(Path(program).read_bytes())
        hook.chmod(0o755)


@pytest.mark.parametrize("question", GIT_USES)
@pytest.mark.slow
def test_no_program_configured_in_a_repository_is_started(
    question: str, program: str, mark: Path
) -> None:
    root = make_project(Path("shop").resolve())
    make_changes(root)
    sign_commit(root)
    make_hostile(root, program)
    for name in ("README.md", "shop/prices.py", "pyproject.toml"):
        os.utime(root / name, (1, 1))  # Git must read these files.
    assert GIT_USES[question](root)
    assert not mark.exists(), mark.read_text()


def sign_commit(root: Path) -> None:
    """Sign the newest commit, in a format that git would verify with a program."""
    head = git(root, "cat-file", "commit", "HEAD")
    front, _, text = head.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"
    made = git(
        root,
        "hash-object",
        "-w",
        "-t",
        "commit",
        "--stdin",
        stdin=f"{front}\n{signature}\n\n{text}\n",
    )
    git(root, "update-ref", "HEAD", made)


ATTACKS = {
    "core.fsmonitor": ("status",),
    "filter.own.clean": ("diff",),
    "filter.own.process": ("diff",),
    "diff.external": ("diff",),
    "diff.own.command": ("diff",),
    "diff.own.textconv": ("diff",),
    "gpg.program": ("show", "HEAD"),
    "core.hooksPath": ("status",),
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.slow
def test_programs_that_plain_git_would_start_are_not_started(
    name: str, program: str, mark: Path
) -> None:
    root = make_project(Path("shop").resolve())
    make_changes(root)
    sign_commit(root)
    git(root, "config", "log.showSignature", "true")
    hooks = Path("hooks").resolve()
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(program)
    git(root, "config", name, str(hooks) if name == "core.hooksPath" else program)
    (root / ".gitattributes").write_text("* filter=own diff=own\n")
    subprocess.run(["git", *ATTACKS[name]], cwd=root, capture_output=True, check=False)
    assert mark.exists(), "git itself runs the program, so that the test proves something"
    mark.unlink()
    git(root, "remote", "add", "origin", "https://github.com/a/b.git")
    for question in GIT_USES.values():
        for path in ("README.md", "shop/prices.py", "pyproject.toml"):
            os.utime(root / path)
        assert question(root)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize(
    "known", [True, False], ids=["this git", "a git without GIT_NO_LAZY_FETCH"]
)
def test_a_partial_clone_fetches_nothing(
    known: bool, program: str, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:
        monkeypatch.delitem(_ENVIRONMENT, "GIT_NO_LAZY_FETCH")
    source = make_project(Path("source").resolve())
    git(source, "config", "uploadpack.allowFilter", "true")
    git(
        source.parent,
        "clone",
        "-q",
        "--filter=blob:none",
        "--no-checkout",
        f"file://{source}",
        "shop",
    )
    root = source.parent / "shop"
    for url in (f"ext::{program} %S", f"ssh://host/{source}", str(source)):
        git(root, "config", "remote.origin.url", url)
        for name in ("remote.origin.uploadpack", "core.sshCommand"):
            git(root, "config", name, program)
        for name in ("protocol.allow", "protocol.ext.allow", "protocol.file.allow"):
            git(root, "config", name, "always")
        with pytest.raises(BadInput, match=r"swecli does not let git use the network"):
            resolve_target(root, ("HEAD",))
        assert not mark.exists(), mark.read_text()


def test_no_program_configured_in_a_submodule_is_started(program: str, mark: Path) -> None:
    part = make_project(Path("part").resolve())
    root = make_project(Path("shop").resolve())
    git(root, "submodule", "add", "-q", str(part), "part")
    git(root, "commit", "-qm", "part")
    for name in ("core.fsmonitor", "filter.own.clean", "diff.external"):
        git(root / "part", "config", name, program)
    (root / "part" / "pyproject.toml").write_text("# another commit\n")
    git(root / "part", "commit", "-qam", "another commit")
    (root / "part" / ".gitattributes").write_text("* filter=own\n")
    (root / "part" / "README.md").write_text("changed\n")
    (root / "README.md").write_text("changed\n")
    git(root, "config", "diff.submodule", "diff")
    mark.unlink(missing_ok=True)
    assert "README.md" in resolve_target(root, ()).files
    assert "README.md" in _list_paths(root)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize(
    "name",
    [
        "GIT_EXTERNAL_DIFF",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_PAGER",
        "GIT_EDITOR",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
    ],
)
def test_no_program_named_by_the_environment_is_started(
    name: str, program: str, mark: Path
) -> None:
    root = make_project(Path("shop").resolve())
    make_changes(root)
    assert resolve_target(root, (), {**os.environ, name: program}).files
    assert not mark.exists()


def test_environment_variables_cannot_redirect_git_to_another_repository(
    program: str, mark: Path
) -> None:
    root, other = make_project(Path("shop").resolve()), make_project(Path("other").resolve())
    (root / "README.md").write_text("mine\n")
    odd = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": "/",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_OBJECT_DIRECTORY": "/nowhere",
        "GIT_CONFIG_GLOBAL": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": program,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={program}'",
        "GIT_TRACE": str(mark),
        "GIT_TRACE2_EVENT": str(mark),
        "GIT_EXEC_PATH": str(other),
    }
    assert resolve_target(root, (), {**os.environ, **odd}).files == ("README.md",)
    assert find_repository(root / "shop", {**os.environ, **odd}) == root
    assert not mark.exists()


@pytest.mark.slow
def test_a_pre_commit_hook_sees_the_staged_files() -> None:
    root = make_project(Path("shop").resolve())
    (root / "README.md").write_text("changed\n")
    seen = root.parent / "seen"
    code = (
        "import os; from pathlib import Path; from swecli.review.target.targets import resolve_target; "
        f"Path({str(seen)!r}).write_text(str(resolve_target(Path.cwd(), ('--staged',), os.environ).files))"
    )
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -c "{code}"\n')
    hook.chmod(0o755)
    git(root, "commit", "-aqm", "second")
    assert seen.read_text() == "('README.md',)"


def test_the_index_of_a_commit_in_a_linked_work_tree_is_used() -> None:
    root, tree = make_project(Path("shop").resolve()), Path("tree").resolve()
    git(root, "worktree", "add", "-q", str(tree))
    (tree / "README.md").write_text("changed\n")
    index = root / ".git/worktrees/tree/next-index.lock"
    shutil.copy(index.with_name("index"), index)
    environ = {**os.environ, "GIT_INDEX_FILE": str(index)}
    subprocess.run(["git", "add", "README.md"], cwd=tree, env=environ, check=True)
    assert resolve_target(tree, ("--staged",), environ).files == ("README.md",)


def test_a_work_tree_configured_elsewhere_is_not_read() -> None:
    root = make_project(Path("shop").resolve())
    secret = Path("secret").resolve()
    secret.mkdir()
    (secret / "README.md").write_text("private\n")
    git(root, "config", "core.worktree", str(secret))
    (root / "README.md").write_text("mine\n")
    assert "private" not in run_git(root, "diff", "HEAD")
    assert find_repository(root) == root


def test_a_bare_repository_in_a_folder_is_not_used(program: str, mark: Path) -> None:
    git(Path.cwd(), "init", "-q", "--bare", "trap")
    trap = Path("trap").resolve()
    git(trap, "config", "core.fsmonitor", program)
    for folder in (trap, trap / "objects"):
        with pytest.raises(BadInput, match="not a git repository"):
            resolve_target(folder, ())
    (trap / ".git").mkdir()
    with pytest.raises(BadInput, match="bare repository|not a git repository"):
        resolve_target(trap, ())
    inside = make_project(Path("shop").resolve()) / "inside"
    (inside / ".git").mkdir(parents=True)
    with pytest.raises(BadInput, match="not a git repository"):
        resolve_target(inside, ())
    assert not mark.exists()


def test_a_program_named_git_in_the_workspace_is_not_started(
    program: str, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project(Path("shop").resolve())
    (root / "git").write_bytes(Path(program).read_bytes())
    (root / "git").chmod(0o755)
    monkeypatch.chdir(root)
    for path in (
        f".:{os.environ['PATH']}",
        f":{os.environ['PATH']}",
        f"{root}:{os.environ['PATH']}",
    ):
        assert find_repository(root, {**os.environ, "PATH": path}) == root
    assert not mark.exists()


def test_linked_work_trees_are_read() -> None:
    bare, first = Path("shop.git").resolve(), make_project(Path("first").resolve())
    git(first, "clone", "-q", "--bare", str(first), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "second", str(bare.parent / "second"))
    root = bare.parent / "second"
    (root / "README.md").write_text("changed\n")
    assert resolve_target(root, ()).files == ("README.md",)
    assert "shop/prices.py" in _list_paths(root)


def test_diff_settings_of_the_user_do_not_change_the_diff(own_home: Path) -> None:
    root = make_project(Path("shop").resolve())
    (root / "README.md").write_text("changed\n")
    plain = run_git(root, "diff", "HEAD")
    for name in ("diff.noprefix", "diff.mnemonicPrefix", "diff.relative"):
        git(root, "config", "--global", name, "true")
    git(root, "config", "--global", "color.diff", "always")
    git(root, "config", "--global", "diff.context", "0")
    git(root, "config", "--global", "diff.orderFile", "/nowhere")
    assert run_git(root / "shop", "diff", "HEAD") == plain
    assert resolve_target(root, ()).diffs["README.md"].lines


def test_a_filter_with_an_equals_sign_in_its_name_is_turned_off(program: str, mark: Path) -> None:
    root = make_project(Path("shop").resolve())
    with (root / ".git" / "config").open("a") as config:
        config.write(f'[filter "a=b"]\n\tclean = {program}\n')
    (root / ".gitattributes").write_text("README.md filter=a=b\n")
    (root / "README.md").write_text("changed\n")
    assert resolve_target(root, ()).diffs["README.md"].lines
    assert not mark.exists()


def test_a_repository_of_another_user_is_reported_as_such() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    root = make_project(Path("shop").resolve())
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(BadInput, match=r"dubious ownership .* safe\.directory"):
        resolve_target(root, ())
    assert "README.md" in _list_paths(root)


def test_the_output_of_git_is_limited_in_time_and_bytes() -> None:
    root = make_project(Path("shop").resolve())
    with pytest.raises(BadInput, match="longer than 100 bytes"):
        run_git(root, "show", "HEAD", max_bytes=100)
    os.mkfifo(root / "pipe")
    git(root, "config", "include.path", "../pipe")
    with pytest.raises(BadInput, match=r"git took longer than 0\.2 s"):
        run_git(root, "rev-parse", "HEAD", seconds=0.2)


def test_only_read_only_git_commands_can_be_run() -> None:
    with pytest.raises(ValueError, match="git fetch is not one of"):
        run_git(Path.cwd(), "fetch")


def test_a_missing_git_a_missing_repository_and_a_broken_one_are_reported() -> None:
    with pytest.raises(GitFailed, match="not a git repository"):
        run_git(Path.cwd(), "rev-parse", "HEAD")
    make_project(Path.cwd())
    (Path(".git") / "config").write_text("[broken")
    with pytest.raises(BadInput, match="bad config line 2"):
        find_repository(Path.cwd())
    with pytest.raises(BadInput, match="git is not installed"):
        run_git(Path.cwd(), "rev-parse", "HEAD", environ={"PATH": ""})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("name", ["config", "objects/info/alternates", "info/exclude", "include"])
def test_a_pipe_in_a_repository_does_not_hold_git(tmp_path: Path, name: str) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    (root / "a.txt").touch()
    pipe = root / ".git" / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    if name == "include":
        (root / ".git/config").write_text(f"[include]\n\tpath = {pipe}\n")
    with pytest.raises(BadInput, match="git waits for a file that gives no answer"):
        run_git(root, "status", "--porcelain")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_folder_where_git_did_nothing_but_wait_is_not_tried_again_at_once(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    exclude = tmp_path / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    os.mkfifo(exclude)
    with pytest.raises(BadInput, match="gives no answer"):
        run_git(tmp_path, "status")
    exclude.unlink()  # git would answer now
    with pytest.raises(BadInput, match="gives no answer"):
        run_git(tmp_path, "status")


def test_git_that_prints_for_long_is_not_taken_for_one_that_waits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("line\n" * 400_000)
    git(tmp_path, "add", "a.txt")
    assert run_git(tmp_path, "diff", "--staged").count("\n+line") == 400_000
