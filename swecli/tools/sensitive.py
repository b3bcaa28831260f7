"""Which files every mode asks about by their names: those that may hold secrets, and those that can start programs."""

from __future__ import annotations

import re
import unicodedata
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path

from swecli.tools.path_patterns import PathPatterns

_SENSITIVE_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud"})
_SENSITIVE_FILES = (
    ".env", ".env[._-]*", ".envrc",
    "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx", "*.tfstate", "*.tfvars",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    "[._]netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token",
    "credentials", "credentials.*", "*[_-]credentials.json", "client_secret*.json", "service[_-]account*.json",
    "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml",
)  # fmt: skip
_SENSITIVE_FILE = re.compile("|".join(map(translate, _SENSITIVE_FILES)))
_TEMPLATES = (".env.example", ".env.sample", ".env.template", ".env.dist")


def is_sensitive(path: str) -> bool:
    """Return whether this workspace-relative path may contain secrets, so that every mode asks before it is read."""
    name = normalize(path).rpartition("/")[2]
    secret_name = name not in _TEMPLATES and _SENSITIVE_FILE.fullmatch(name) is not None
    return secret_name or is_in_secret_folder(path)


def is_in_secret_folder(path: str) -> bool:
    """Return whether all that lies in a folder of this workspace-relative path may be a secret."""
    return not _SENSITIVE_FOLDERS.isdisjoint(normalize(path).split("/")[:-1])


def sensitive_patterns() -> list[str]:
    """Return patterns, as in .gitignore, of which each sensitive path matches one."""
    folders = [f"**/{name}/**" for name in sorted(_SENSITIVE_FOLDERS)]
    return [*_SENSITIVE_FILES, *folders]


def protected_part(path: str) -> str:
    """Return the shortest leading part of a workspace-relative path that is protected, "" if none is."""
    parts = path.split("/")
    leading = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((part for part in leading if is_protected(part)), "")


@lru_cache(maxsize=10_000)  # of the many files of a folder, each asks about the same folders
def is_protected(path: str) -> bool:
    """Return whether every mode asks before this workspace-relative path is changed, or one below it."""
    return _protected().match(normalize(path))


@cache
def _protected() -> PathPatterns:
    return PathPatterns(_protected_lines())


def may_be_protected(name: str) -> bool:
    """Return whether a path that ends with this name can be protected, if nothing above it is. Much faster than
    `is_protected`, which knows."""
    return _protected().may_name(normalize(name))


def is_installed(path: str) -> bool:
    """Return whether a workspace-relative path lies in a folder of installed dependencies."""
    return not _installed().isdisjoint(normalize(path).split("/")[:-1])


@cache
def _installed() -> frozenset[str]:
    return frozenset(line for line in _lines("installed.txt") if line and not line.startswith("#"))


def _protected_lines() -> list[str]:
    return [*_lines("protected.txt"), *_lines("installed.txt")]


def _lines(file: str) -> list[str]:
    return Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()


def normalize(path: str) -> str:
    """Return the path without case and invisible characters, as some file systems compare names."""
    if path.isascii() and path.isprintable():  # a search compares thousands of names
        return path.lower()
    plain = unicodedata.normalize("NFKC", path)
    return "".join(
        char for char in plain if unicodedata.category(char) not in ("Cf", "Cc")
    ).casefold()
