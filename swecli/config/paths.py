"""Where things live (XDG through platformdirs, or everything under SWECLI_HOME), and which folders the user trusts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swecli.models.errors import BadInput, ConfigError


@dataclass(frozen=True, slots=True)
class Paths:
    """The four directories; made with mode 0700 by `ensure`, not by asking for them."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def database(self) -> Path:
        return self.data / "swecli.db"

    @property
    def history(self) -> Path:
        """Lines typed at the prompt."""
        return self.state / "history"

    @property
    def log(self) -> Path:
        """What went wrong, for a bug report."""
        return self.state / "swecli.log"

    @property
    def trusted(self) -> Path:
        """The folders whose project files may be used, one a line."""
        return self.state / "trusted"

    @property
    def permissions(self) -> Path:
        """What the user allowed for good, by folder."""
        return self.config / "permissions.toml"

    def ensure(self) -> None:
        """Make the directories, for this user alone. Raises OSError."""
        for path in (self.config, self.data, self.state, self.cache):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)


def find_paths(environ: Mapping[str, str]) -> Paths:
    """The directories for this environment. Raises ConfigError for a SWECLI_HOME that cannot be a folder's name."""
    if home := environ.get("SWECLI_HOME"):
        try:
            home.encode("utf-8")  # the database's URL is text
            base = Path(home).expanduser().absolute()
        except (RuntimeError, UnicodeEncodeError, FileNotFoundError) as error:
            problem = f"SWECLI_HOME is {home!r}, which is not a usable folder."
            raise ConfigError(problem, "Set it to a folder you can write to.") from error
        return Paths(base, base, base, base)
    # late: 10 ms, not needed where SWECLI_HOME says it all
    from platformdirs import PlatformDirs  # noqa: PLC0415

    dirs = PlatformDirs("swecli", appauthor=False)
    return Paths(dirs.user_config_path, dirs.user_data_path, dirs.user_state_path, dirs.user_cache_path)


def is_trusted(paths: Paths, folder: Path) -> bool:
    """Whether the user has said yes to this folder or to one above it."""
    try:
        text = paths.trusted.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    # not splitlines: it would also cut names at letters that are no line end here
    trusted = {Path(line) for line in text.split("\n") if line.strip()}
    resolved = folder.resolve()
    return any(parent in trusted for parent in (resolved, *resolved.parents))


def trust(paths: Paths, folder: Path) -> None:
    """Remember a yes. Raises OSError, and BadInput for a name that would read as two folders."""
    if is_trusted(paths, folder):
        return
    line = str(folder.resolve())
    if "\n" in line:
        raise BadInput(f"{line!r} has a line break in its name and cannot be trusted.", "Rename it first.")
    paths.ensure()
    with os.fdopen(os.open(paths.trusted, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab") as file:
        file.write(f"{line}\n".encode("utf-8", "surrogateescape"))


def project_root(folder: Path) -> Path:
    """The repository a folder belongs to, or the folder itself."""
    resolved = folder.resolve()
    return next((parent for parent in (resolved, *resolved.parents) if os.access(parent / ".git", os.F_OK)), resolved)


def write_file(path: Path, text: str) -> None:
    """Put the text in the file's place in one step, for this user alone where it is new; a link stays one. Raises
    OSError."""
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        new = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(new, "w", encoding="utf-8", newline="") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
