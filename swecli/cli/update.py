"""`swecli --check-update`: name the command that updates this installation. Nothing is asked over the network."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from swecli import __version__
from swecli.config.own_command import find_start_script
from swecli.values import dataclass

_PACKAGE = Path(__file__).resolve().parents[1]
_NAME = "swecli"  # under which an installer looks in an index of packages
_NEWER = "NEWER-WHEEL"


@dataclass(frozen=True, slots=True)
class _Installer:
    """What installed the package, as the commands that update it. `upgrade` is of what came by its name or from a
    repository, `install` is followed by the path of what is installed in its place."""

    upgrade: str
    install: str


_PIPX = _Installer("pipx upgrade swecli", "pipx install --force")
_UV = _Installer("uv tool upgrade swecli", "uv tool install --force --reinstall")


def update_hint(package: Path = _PACKAGE, prefix: Path = Path(sys.prefix)) -> str:
    """Return a line with the version and the command that updates it, chosen by where package and Python are and by
    what the package was installed from."""
    source = _read_source(package)
    path = _local_path(source)
    if find_start_script(package) is not None:
        command = _pull(package.parent)
    elif path is None:
        command = _find_installer(prefix, source).upgrade
    elif path.suffix == ".whl":
        command = f"{_find_installer(prefix, source).install} {_NEWER}"
        return f"swecli {__version__}, installed from {path}. To update it: {command}"
    else:
        install = f"{_find_installer(prefix, source).install} {shlex.quote(str(path))}"
        command = f"{_pull(path)} && {install}" if (path / ".git").exists() else install
    return f"swecli {__version__}. To update it: {command}"


def _find_installer(prefix: Path, source: Mapping[str, object]) -> _Installer:
    if (prefix / "pipx_metadata.json").is_file():
        return _PIPX
    if (prefix / "uv-receipt.toml").is_file():
        return _UV
    install = f"{shlex.quote(str(prefix / 'bin' / 'python'))} -m pip install --upgrade"
    url = source.get("url")
    name = shlex.quote(f"git+{url}") if "vcs_info" in source else _NAME
    return _Installer(f"{install} {name}", install)


def _read_source(package: Path) -> Mapping[str, object]:
    """Return what an installer wrote about where the package came from, {} if that was an index of packages. The file
    is specified in PEP 610."""
    for file in package.parent.glob(f"{_NAME}-*.dist-info/direct_url.json"):
        try:
            source = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(source, dict):
            return source
    return {}


def _local_path(source: Mapping[str, object]) -> Path | None:
    """Return the folder or wheel that the package was installed from, None if it came over the network."""
    url = urlsplit(str(source.get("url", "")))
    is_local = url.scheme == "file" and "vcs_info" not in source
    return Path(unquote(url.path)) if is_local else None


def _pull(checkout: Path) -> str:
    return f"git -C {shlex.quote(str(checkout))} pull"
