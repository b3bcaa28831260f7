"""Find files with ripgrep. Ignored files are skipped."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from swecli.config.paths import project_root
from swecli.regular_files import open_regular, read_regular
from swecli.tools.base import ToolError
from swecli.tools.processes import child_environment, find_ripgrep

IGNORE_FILES = (".aiignore", ".swecliignore")
_DEFAULT_IGNORES = Path(__file__).with_name("ignored.txt")
_NO_RIPGREP = "ripgrep (rg) is not installed. Install it, or run scripts/setup again."
_TREE_SECONDS = 20.0  # as long as the listing for undo may take
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")


def files_below(
    root: Path, start: str, environ: Mapping[str, str] | None, seconds: float
) -> list[str]:
    """Return the workspace-relative paths of all files below a folder that are not ignored, sorted folder by folder.
    Raises ToolError if ripgrep is missing, is killed or takes longer than `seconds`."""
    env = child_environment(environ)
    argv = [*ripgrep(root, env), "--files", "--null", "--", start if start == "." else f"./{start}"]
    try:
        done = subprocess.run(
            argv,
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"Listing the files took longer than {seconds:g} s. Name a smaller folder."
        ) from error
    if done.returncode not in (0, 1, 2):  # 1: no files, 2: some could not be read
        raise ToolError(
            f"ripgrep ended early (exit code {done.returncode}), so the list of files is incomplete."
        )
    names = [os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name]
    return sorted(names, key=lambda name: name.split("/"))


def ripgrep(root: Path, env: Mapping[str, str]) -> list[str]:
    """Return ripgrep with the options of every search: ignore files up to the top of the repository apply, folders of
    version control are excluded."""
    program = find_ripgrep(env, root)
    if program is None:
        raise ToolError(_NO_RIPGREP)
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
    for file in (_DEFAULT_IGNORES, *(root / name for name in IGNORE_FILES)):
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
        raise _unusable(file, "is not UTF-8 text") from error
    except OSError as error:
        raise _unusable(file, f"cannot be used ({error.strerror})") from error
    return data


def _check_git_ignores(root: Path) -> None:
    """Raise ToolError if an ignore file of git, here or above, would make ripgrep wait or fill the memory."""
    top = project_root(root)
    folders = [one for one in (root, *root.parents) if one.is_relative_to(top)]
    for file in [*(folder / ".gitignore" for folder in folders), top / ".git" / "info" / "exclude"]:
        try:
            open_regular(file).close()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except OSError as error:
            raise _unusable(file, f"cannot be used ({error.strerror})") from error


def _unusable(file: Path, why: str) -> ToolError:
    return ToolError(f"{file.name} {why}, so what it leaves out is unknown. Correct it.")


def list_tree(
    root: Path,
    environ: Mapping[str, str],
    *,
    ignore_files: Iterable[Path] = (),
    excluding: Iterable[str] = (),
) -> set[str]:
    """Return the workspace-relative paths of all files, also those that git ignores, but for installed dependencies
    (ignored.txt), the objects of git, what `ignore_files` name, and what patterns match without regard to case. Raises
    ToolError if they cannot be listed."""
    program = find_ripgrep(environ, root)
    if program is None:
        raise ToolError(_NO_RIPGREP)
    argv = [program, "--no-config", "--files", "--null", "--hidden", "--no-messages", "--no-ignore"]
    argv += [f"--ignore-file={file}" for file in (_DEFAULT_IGNORES, *ignore_files)]
    argv += [f"--iglob=!{pattern}" for pattern in ("**/.git/objects/**", *excluding)]
    try:
        done = subprocess.run(
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
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


def own_ignore_files(root: Path) -> list[Path]:
    """Return the ignore files of the assistant that exist in a workspace."""
    return [root / name for name in IGNORE_FILES if (root / name).is_file()]
