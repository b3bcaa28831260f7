"""Where a path the model names really is, and which files are asked for in every mode."""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from functools import cache
from pathlib import Path

from pathspec import GitIgnoreSpec

from swecli.tools.base import ToolError
from swecli.tools.limits import escape_hidden, one_line

_SENSITIVE_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud"})
_SENSITIVE_FILES = re.compile(
    r"\.env(?:[._-].*|rc)?|.*\.(?:env|pem|key|p12|pfx|jks|keystore|ppk|kdbx|tfstate|tfvars)|id_(?:rsa|dsa|ecdsa|ed25519)|"
    r"[._]netrc|\.(?:npmrc|pypirc|pgpass|my\.cnf|git-credentials|htpasswd|vault-token)|credentials(?:\..*)?|"
    r".*[_-]credentials\.json|client_secret.*\.json|service[_-]account.*\.json|secrets\.(?:json|ya?ml|toml)",
    re.DOTALL,
)
_TEMPLATES = (".env.example", ".env.sample", ".env.template", ".env.dist")


def resolve_path(root: Path, text: str) -> Path:
    """The real path `text` stands for: every link on the way followed, what does not exist yet taken as written.
    Relative paths start at `root`; absolute ones inside it are accepted. Components are compared, never prefixes.
    Raises ToolError: the path leads, or a link in the workspace leads, out of the workspace; or it cannot be a path."""
    if not text.strip():
        raise ToolError("The path is empty. Give one relative to the workspace.")
    if "\0" in text:
        raise ToolError("The path holds a NUL character.")
    if text == "~" or text.startswith("~/"):
        raise ToolError("~ is not expanded here. Give a path relative to the workspace.")
    top = root.resolve()
    start = Path("/") if text.startswith("/") else top
    try:
        found = _walk(top, start, text)
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(f"{one_line(text)}: {getattr(error, 'strerror', None) or 'not a usable path'}.") from error
    if not is_inside(top, found):
        raise ToolError(f"{one_line(text)} is outside the workspace {top}. Only paths inside it can be used.")
    return found


def is_inside(root: Path, path: Path) -> bool:
    """Whether `path` is `root` or beneath it, component by component. Both must be resolved."""
    return path.parts[: len(root.parts)] == root.parts


def relative_path(root: Path, path: Path) -> str:
    """A located path relative to the workspace, with `/`; "." for the workspace itself."""
    return path.relative_to(root.resolve()).as_posix()


def display_path(root: Path, path: Path) -> str:
    """A located path relative to the workspace, fit to be seen."""
    return escape_hidden(relative_path(root, path), keep="")


def is_protected(path: str) -> bool:
    """Whether writing to this workspace-relative path is asked in every mode, also where it does not exist yet."""
    return _protected().match_file("/".join(_folded(part) for part in path.split("/")))


@cache
def _protected() -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(Path(__file__).with_name("protected.txt").read_text(encoding="utf-8").splitlines())


def is_sensitive(path: str) -> bool:
    """Whether this workspace-relative path may contain secrets, so that reading it is asked in every mode."""
    parts = [_folded(part) for part in path.split("/")]
    if any(part in _SENSITIVE_FOLDERS for part in parts[:-1]):
        return True
    return parts[-1] not in _TEMPLATES and _SENSITIVE_FILES.fullmatch(parts[-1]) is not None


def write_guard(path: str) -> str:
    """Why writing to this path is asked in every mode; "" where it is not."""
    if not (why := read_guard(path)) and is_protected(path):
        return (
            f"{escape_hidden(path, keep='')} is protected: what is written there can start programs or change settings"
        )
    return why


def read_guard(path: str) -> str:
    """Why reading this path is asked in every mode; "" where it is not."""
    return f"{escape_hidden(path, keep='')} may contain secrets" if is_sensitive(path) else ""


def not_found_error(root: Path, path: Path) -> ToolError:
    """The failure for a path that is not there, with the names nearby that look like it."""
    near = [display_path(root, other) for other in _near(root.resolve(), path)]
    return ToolError(
        f"{display_path(root, path)} does not exist." + (f" Near names: {', '.join(near)}." if near else "")
    )


def _walk(top: Path, position: Path, text: str) -> Path:
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if position.exists() and not position.is_dir():
            raise ToolError(f"{escape_hidden(str(position), keep='')} is not a directory.")
        step, position = position / part, Path(os.path.realpath(position / part))
        if position.is_symlink():
            raise ToolError(f"{escape_hidden(str(step), keep='')} is a link that leads to itself.")
        if is_inside(top, step) and not is_inside(top, position) and step.is_symlink():
            raise ToolError(f"{escape_hidden(str(step), keep='')} is a link out of the workspace. It is not followed.")
    return position


def _near(top: Path, path: Path) -> list[Path]:
    folder = path.parent
    while not folder.is_dir() and is_inside(top, folder.parent):
        folder = folder.parent
    try:
        names = {name.lower(): name for name in sorted(entry.name for entry in folder.iterdir())[:5000]}
    except OSError:
        return []
    wanted = path.relative_to(folder).parts[0].lower()
    return [folder / names[name] for name in difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)]


def _folded(part: str) -> str:
    """A name as a careless file system would take it: case and invisible letters do not count."""
    plain = unicodedata.normalize("NFKC", part)
    return "".join(letter for letter in plain if unicodedata.category(letter) not in ("Cf", "Cc")).casefold()
