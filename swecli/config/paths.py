"""The program's directories (XDG, or SWECLI_HOME), and the root of the project that a folder belongs to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from swecli.models.errors import ConfigError
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class Paths:
    """The four directories. `ensure` creates them with mode 0700.

    Attributes:
        config: What the user wrote or allowed: settings and saved permission rules.
        data: What must not be lost: the database, the tutorial's folders.
        state: What this machine remembers: the log, the history of the prompt, the record of trust.
        cache: What can be made again.
    """

    config: Path
    data: Path
    state: Path
    cache: Path

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Paths:
        """Return the directories for this environment. Raises ConfigError if SWECLI_HOME is not a usable folder."""
        home = environ.get("SWECLI_HOME")
        if home:
            try:
                home.encode("utf-8")  # the database URL must be text
                folder = Path(home).expanduser().absolute()
            except (RuntimeError, UnicodeEncodeError, FileNotFoundError) as error:
                problem = f"SWECLI_HOME is {home!r}, which is not a usable folder."
                raise ConfigError(problem, "Set it to a folder you can write to.") from error
            return cls(config=folder, data=folder, state=folder, cache=folder)
        # late: 10 ms, not needed with SWECLI_HOME
        from platformdirs import PlatformDirs

        dirs = PlatformDirs("swecli", appauthor=False)
        return cls(
            config=dirs.user_config_path,
            data=dirs.user_data_path,
            state=dirs.user_state_path,
            cache=dirs.user_cache_path,
        )

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def database(self) -> Path:
        return self.data / "swecli.db"

    @property
    def history(self) -> Path:
        return self.state / "history"

    @property
    def log(self) -> Path:
        return self.state / "swecli.log"

    @property
    def permissions(self) -> Path:
        return self.config / "permissions.toml"

    def ensure(self) -> None:
        """Create the directories, readable by this user only. Raises OSError."""
        for path in (self.config, self.data, self.state, self.cache):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)


def project_root(folder: Path) -> Path:
    """Return the root of the Git repository that contains the folder, or the folder itself."""
    resolved = folder.resolve()
    for parent in (resolved, *resolved.parents):
        # not Path.exists: it raises in a folder that may not be read
        if os.access(parent / ".git", os.F_OK):
            return parent
    return resolved
