"""What the sandbox hides of the home folders, and what of them a command sees nevertheless."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from swecli.folders import is_folder

_OF_USERS = ("/home", "/root")  # from the Filesystem Hierarchy Standard
_OF_SYSTEM = ("/usr", "/etc", "/bin", "/sbin", "/lib")  # system accounts have such a home
_SETTINGS_OF_GIT = ("git/config", "git/ignore", "git/attributes")  # without its stored passwords

# Where package managers keep what they have fetched or built: a variable of each, and a place at home, or in the folder
# of caches. From the documentation of each.
_CACHES = (
    ("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv"), ("POETRY_CACHE_DIR", "pypoetry"),
    ("PRE_COMMIT_HOME", "pre-commit"), ("npm_config_cache", "~/.npm"), ("YARN_CACHE_FOLDER", "yarn"),
    ("CARGO_HOME", "~/.cargo"), ("GOCACHE", "go-build"), ("GOMODCACHE", "~/go/pkg/mod"),
    ("GRADLE_USER_HOME", "~/.gradle"), ("", "~/.m2/repository"),
)  # fmt: skip


def home_of(environ: Mapping[str, str]) -> Path:
    """Return the home folder as the environment names it."""
    return Path(environ.get("HOME") or "~").expanduser()


def hidden_homes(root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the real paths of the folders in which users keep their files, none inside another; without one that lies
    in the workspace, or above it through a link."""
    own_home = home_of(environ)
    candidates = [own_home, *map(Path, _OF_USERS)]
    with suppress(KeyError):  # a container may have no name for its user
        candidates.append(Path(pwd.getpwuid(os.geteuid()).pw_dir))
    homes: set[Path] = set()
    for path in candidates:
        real = path.resolve()
        leads_out = own_home.is_relative_to(path) and not own_home.resolve().is_relative_to(real)
        if is_folder(real) and not leads_out and not _is_needed(real, root):
            homes.add(real)
    return tuple(sorted(str(home) for home in homes if homes.isdisjoint(home.parents)))


def settings_of_git(environ: Mapping[str, str]) -> list[str]:
    """Return the user's settings of git that exist: without them git commits in nobody's name."""
    home = home_of(environ)
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    paths = [home / ".gitconfig", *(folder / name for name in _SETTINGS_OF_GIT)]
    return [str(path) for path in paths if os.access(path, os.R_OK)]


def package_caches(environ: Mapping[str, str]) -> list[str]:
    """Return the folders of package managers' caches that exist, each before those that lie in it."""
    home = home_of(environ)
    caches = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    folders = set()
    for variable, default in _CACHES:
        usual = home / default[2:] if default.startswith("~/") else caches / default
        path = Path(environ.get(variable) or usual)
        if path.is_absolute() and is_folder(path) and not home.is_relative_to(path):
            folders.add(str(path.resolve()))
    return sorted(folders)


def _is_needed(home: Path, root: Path) -> bool:
    is_system = any(home.is_relative_to(folder) for folder in _OF_SYSTEM)
    return is_system or home == Path("/") or home.is_relative_to(root)
