"""Set up a model: store its key in the keyring, else in a private file, and name both in the user's settings."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from swecli.actions.settings import write_settings
from swecli.config.paths import Paths
from swecli.config.private_files import write_file
from swecli.config.toml_files import read_toml
from swecli.models.errors import BadInput, ConfigError
from swecli.text import short_path
from swecli.values import dataclass

_KEYRING = "secret-tool"  # libsecret's program, which GNOME's and KDE's keyrings answer
_KEYRING_SECONDS = 30.0  # a keyring may ask for its password


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Where a key is, in words, and the command that prints it."""

    place: str
    command: tuple[str, ...]


def store_key(provider: str, key: str, paths: Paths) -> StoredKey:
    """Store the key of a provider. Raises BadInput for what is no key, ConfigError if it cannot be stored."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise BadInput("That is no key: a key is one word of ASCII characters.", "Copy it again.")
    return _store_in_keyring(provider, key) or _store_in_file(provider, key, paths)


def _store_in_keyring(provider: str, key: str) -> StoredKey | None:
    """Return where the keyring has the key, None if there is no keyring that gives it back."""
    program = shutil.which(_KEYRING)
    if program is None:
        return None
    attributes = ("service", "swecli", "provider", provider)
    lookup = (program, "lookup", *attributes)
    label = f"swecli: key of {provider}"
    store_output = _run((program, "store", f"--label={label}", *attributes), key)
    if store_output is None or _run(lookup) != key:
        return None
    return StoredKey("the keyring", lookup)


def _run(command: Sequence[str], input_text: str = "") -> str | None:
    """Return what a command prints, None if it fails."""
    try:
        ended = subprocess.run(
            command,
            input=input_text,
            capture_output=True,
            text=True,
            timeout=_KEYRING_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.strip()


def _store_in_file(provider: str, key: str, paths: Paths) -> StoredKey:
    path = paths.config / "keys" / provider
    try:
        write_file(path, f"{key}\n")
        path.chmod(0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", "") from error
    return StoredKey(f"{short_path(path)}, which only you can read", ("cat", str(path)))


def choose_for_every_start(path: Path, model: str, key_command: Sequence[str] = ()) -> None:
    """Name the model in the settings file, with the command that prints its key. Raises ConfigError."""
    # late: 30 ms, only needed to write a file
    import tomlkit

    read_toml(path)  # raises if it is invalid
    text = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
    document = tomlkit.parse(text)
    document["model"] = model
    if key_command:
        tables = document.setdefault("models", tomlkit.table(is_super_table=True))
        entry = tables.setdefault(model, tomlkit.table())
        entry["key_command"] = list(key_command)
    write_settings(path, document.as_string())
