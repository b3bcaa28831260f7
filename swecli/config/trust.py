"""Which folders' project files may be used: a list the user wrote by saying yes, nothing else."""

from __future__ import annotations

from pathlib import Path

from swecli.config.paths import Paths


def is_trusted(paths: Paths, folder: Path) -> bool:
    """Whether the user has said yes to this folder or to one above it."""
    try:
        lines = paths.trusted.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    trusted = {Path(line) for line in lines if line.strip()}
    resolved = folder.resolve()
    return any(parent in trusted for parent in (resolved, *resolved.parents))


def trust(paths: Paths, folder: Path) -> None:
    """Remember a yes. Raises OSError."""
    if is_trusted(paths, folder):
        return
    paths.ensure()
    with paths.trusted.open("a", encoding="utf-8") as file:
        paths.trusted.chmod(0o600)
        file.write(f"{folder.resolve()}\n")


def project_root(folder: Path) -> Path:
    """The repository a folder belongs to, or the folder itself."""
    resolved = folder.resolve()
    for parent in (resolved, *resolved.parents):
        if (parent / ".git").exists():
            return parent
    return resolved
