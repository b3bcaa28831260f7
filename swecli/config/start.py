"""What a run starts with: everything read from flags, environment and files before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swecli.config.paths import Paths
from swecli.config.settings import Settings
from swecli.models.message import Choice


@dataclass(frozen=True, slots=True)
class Start:
    """`resume` is None for a new session, "" for this directory's last one, else an id, prefix or title; `pick`
    asks which. `prompt` becomes the first message. `notices` are lines to show before the first prompt."""

    settings: Settings
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    choice: Choice = Choice("", "")  # noqa: RUF009 - frozen
    resume: str | None = None
    pick: bool = False
    prompt: str = ""
    trusted: bool = False
    notices: tuple[str, ...] = ()

    @property
    def database(self) -> str | Path:
        """A path or a URL."""
        return self.settings.db or self.paths.database
