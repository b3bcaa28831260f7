"""Find files with ripgrep. Ignored files are skipped."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from swecli.config.paths import project_root
from swecli.file_names import write_name
from swecli.models.errors import ToolError
from swecli.regular_files import open_regular, read_regular
from swecli.tools.environment import child_environment
from swecli.tools.ignored import IGNORE_FILES, when_ignored
from swecli.tools.own_programs import NO_RIPGREP, find_ripgrep

DEFAULT_IGNORES = Path(__file__).with_name("ignored.txt")
PATIENCE = 0.5  # seconds in which ripgrep lists some 50,000 files
_TREE_SECONDS = 20.0  # as long as the listing for undo may take
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")


def files_below(
    root: Path, start: str, environ: Mapping[str, str] | None, seconds: float
) -> list[str]:
    """Return the workspace-relative paths of all files below a folder that are not ignored, sorted folder by folder.
    Raises ToolError if ripgrep is missing, is killed or takes longer than `seconds`."""
    env = child_environment(environ)
    options = ["--files", "--null", "--", start if start == "." else f"./{start}"]
    return list_with([*ripgrep(root, env), *options], root, start, env, seconds)


def visible_files(
    root: Path, start: str, environ: Mapping[str, str] | None, seconds: float
) -> Iterable[str]:
    """Return the files of `files_below` without those that an ignore file of the assistant names; all of them if one
    names the folder, which the user has then approved. Raises ToolError like `files_below`."""
    files = files_below(root, start, environ, seconds)
    ignore_files = own_ignore_files(root)
    if not ignore_files or when_ignored(root, start):
        return files
    # a line of a .gitignore can include again what an ignore file of ours leaves out
    env = child_environment(environ)
    named_by_none = list_tree(root, env, ignore_files=ignore_files, start=start)
    return [path for path in files if path in named_by_none]


def list_with(
    argv: list[str], root: Path, start: str, env: Mapping[str, str], seconds: float
) -> list[str]:
    """Return the files that ripgrep, started with `argv`, lists below a folder. Raises ToolError like `files_below`."""
    output, code = _run_listing(argv, root, start, env, seconds)
    if code not in (0, 1, 2):  # 1: no files, 2: some could not be read
        raise ToolError(
            f"ripgrep ended early (exit code {code}), so the list of files is incomplete."
        )
    names = [os.fsdecode(name).removeprefix("./") for name in output.split(b"\0") if name]
    return sorted(names, key=lambda name: name.split("/"))


def _run_listing(
    argv: list[str], root: Path, start: str, env: Mapping[str, str], seconds: float
) -> tuple[bytes, int]:
    """Run ripgrep, and return its output and exit code. Raises ToolError if it takes too long, or an ignore file stops
    it."""
    process = subprocess.Popen(
        argv,
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            try:
                output, _ = process.communicate(timeout=min(PATIENCE, seconds))
            except subprocess.TimeoutExpired:
                check_ignores_below(root / start)
                output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise ToolError(
                f"Listing the files took longer than {seconds:g} s. Name a smaller folder."
            ) from error
        finally:
            process.kill()
    return output, process.returncode


def ripgrep(root: Path, env: Mapping[str, str]) -> list[str]:
    """Return ripgrep with the options of every search: ignore files up to the top of the repository apply, folders of
    version control are excluded."""
    program = find_ripgrep(env, root)
    if program is None:
        raise ToolError(NO_RIPGREP)
    argv = [
        program,
        "--no-config",
        "--hidden",
        "--no-messages",
        "--no-ignore-global",
        "--no-ignore-dot",
    ]
    if not (project_root(root) / ".git").exists():
        argv += ["--no-require-git", "--no-ignore-parent"]
    _check_git_ignores(root)
    for file in (DEFAULT_IGNORES, *(root / name for name in IGNORE_FILES)):
        if _read_ignore_file(file):
            argv.append(f"--ignore-file={file}")
    return [*argv, *(f"--glob=!{name}" for name in _VERSION_CONTROL)]


def _read_ignore_file(file: Path) -> bytes:
    """Return the content of an ignore file; empty if there is none. Raises ToolError if ripgrep could not use it."""
    try:
        data = read_regular(file)
        data.decode("utf-8")  # ripgrep would skip the rest of the file
    except FileNotFoundError:
        return b""
    except UnicodeDecodeError as error:
        raise _unusable(file.name, "is not UTF-8 text") from error
    except OSError as error:
        raise _unusable(file.name, f"cannot be used ({error.strerror})") from error
    return data


def _check_git_ignores(root: Path) -> None:
    """Raise ToolError if an ignore file of git, here or above, would make ripgrep wait or fill the memory."""
    git_root = project_root(root)
    folders = [folder for folder in (root, *root.parents) if folder.is_relative_to(git_root)]
    for file in [
        *(folder / ".gitignore" for folder in folders),
        git_root / ".git" / "info" / "exclude",
    ]:
        _check_git_ignore(file, file.name)


def check_ignores_below(folder: Path) -> None:
    """Raise ToolError if an ignore file of git, here, above or in a subfolder, makes ripgrep wait or fills the memory.

    Only for a run of ripgrep that is not done after PATIENCE: looking through the whole tree each time would take as
    long as most searches, and no option of ripgrep leaves out only such files. The subfolders that ripgrep leaves out
    are looked through too, because any ignore file may include them again."""
    _check_git_ignores(folder)
    until = time.monotonic() + _TREE_SECONDS
    pending = [folder]
    while pending and time.monotonic() < until:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.name == ".gitignore":
                    _check_git_ignore(path, str(path.relative_to(folder)))
                elif entry.name == ".git":  # of a repository in this one
                    exclude = path / "info" / "exclude"
                    _check_git_ignore(exclude, str(exclude.relative_to(folder)))
                elif entry.is_dir(follow_symlinks=False) and entry.name not in _VERSION_CONTROL:
                    pending.append(path)


def _check_git_ignore(file: Path, name: str) -> None:
    try:
        open_regular(file).close()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except OSError as error:
        raise _unusable(name, f"cannot be used ({error.strerror})") from error


def _unusable(name: str, reason: str) -> ToolError:
    return ToolError(f"{write_name(name)} {reason}, so what it leaves out is unknown. Correct it.")


def list_tree(
    root: Path,
    environ: Mapping[str, str],
    *,
    ignore_files: Iterable[Path] = (DEFAULT_IGNORES,),
    only: Iterable[str] = (),
    excluding: Iterable[str] = (),
    start: str = ".",
) -> set[str]:
    """Return the workspace-relative paths of all files below a folder, also those that git ignores, but for the objects
    of git and what `ignore_files` name. Patterns are compared without case: `only` what one of them matches is listed
    (none: all), and nothing that one of `excluding` matches. Raises ToolError if they cannot be listed."""
    program = find_ripgrep(environ, root)
    if program is None:
        raise ToolError(NO_RIPGREP)
    argv = [program, "--no-config", "--files", "--null", "--hidden", "--no-messages", "--no-ignore"]
    argv.append("--ignore-file-case-insensitive")
    argv += [f"--ignore-file={file}" for file in ignore_files]
    argv += [f"--iglob={pattern}" for pattern in only]
    argv += [f"--iglob=!{pattern}" for pattern in ("**/.git/objects/**", *excluding)]
    argv += ["--", start if start == "." else f"./{start}"]
    try:
        process = subprocess.run(
            argv,
            cwd=root,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TREE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"Listing the files took longer than {_TREE_SECONDS:g} s.") from error
    return {os.fsdecode(name).removeprefix("./") for name in process.stdout.split(b"\0") if name}


def own_ignore_files(root: Path) -> list[Path]:
    """Return the ignore files of the assistant that exist in a workspace."""
    return [root / name for name in IGNORE_FILES if (root / name).is_file()]
