"""The user's settings file, changed one setting at a time: comments, order and everything else stay as they are."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from swecli.config.load import parse_setting, unknown_setting
from swecli.config.settings import described
from swecli.models.errors import ConfigError
from swecli.models.window import WindowSpec

HEAD = "# Settings of swecli. `swecli config get` shows what is in force, and which layer said so.\n"


def set_in(text: str, name: str, value: Any) -> str:
    """The text of a settings file with one setting changed, or added at its end; `value` as `parse_setting` gives it.

    Comments inside a list that is replaced go with it; a comment behind the value stays.

    Raises:
        ConfigError: the text is not TOML, or the place cannot be found safely.
    """
    assignment = f"{name} = {toml_value(value)}"
    lines, (start, end) = _lines(text), _place(text, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    if start == end:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        changed = "".join([*lines, assignment, newline])
    else:
        rest = _behind_value("".join(lines[start:end]))
        changed = "".join([*lines[:start], assignment, rest, *lines[end:]])
    return _checked(changed, _parsed(text) | {name: tomllib.loads(assignment)[name]})


def unset_in(text: str, name: str) -> str:
    """The text of a settings file without that setting; the same text where it is not set. Raises ConfigError."""
    lines, (start, end) = _lines(text), _place(text, name)
    wanted = {key: value for key, value in _parsed(text).items() if key != name}
    return _checked("".join([*lines[:start], *lines[end:]]), wanted)


def from_words(name: str, words: list[str]) -> Any:
    """A setting's value out of the words of a command line: rules may be several. Raises ConfigError."""
    known = {row[0]: row[3] for row in described()}
    if name not in known:
        raise unknown_setting(name)
    listed = isinstance(known[name], tuple)
    if not listed and len(words) != 1:
        raise ConfigError(f"{name} takes one value, here are {len(words)}.", "Put it in quotes if it holds spaces.")
    try:
        return parse_setting(name, words if listed else words[0])
    except ValueError as error:
        raise ConfigError(f"{name}: {error}.") from error


def toml_value(value: Any) -> str:
    """A setting's value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, WindowSpec) and str(value).isdecimal():
        return str(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def template() -> str:
    """A settings file that sets nothing and names everything."""
    rows = [f"# {doc}\n# {name} = {_example(default)}\n" for name, doc, _, default in described()]
    return "\n".join([HEAD, *rows])


def write_settings(path: Path, text: str) -> None:
    """Put the text in the file's place in one step, for this user alone where it is new; a link stays one.

    Raises OSError.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with os.fdopen(
            os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "w", encoding="utf-8", newline=""
        ) as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _example(default: Any) -> str:
    return toml_value(1 if default is None else default)


def _lines(text: str) -> list[str]:
    """Lines as TOML knows them: no other sign than a newline ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _place(text: str, name: str) -> tuple[int, int]:
    """The lines of the setting's assignment, [start, end); an empty range at the file's end where it is not set."""
    lines = _lines(text)
    if name not in _parsed(text):
        return len(lines), len(lines)
    begins = re.compile(rf"""[ \t]*(?:{name}|"{name}"|'{name}')[ \t]*=""")
    for start, line in enumerate(lines):
        # inside a list or a long text the lines before are not whole
        if begins.match(line) and _is_toml("".join(lines[:start])):
            ends = (end for end in range(start + 1, len(lines) + 1) if _is_toml("".join(lines[start:end])))
            return start, next(ends)
    raise ConfigError(f"{name} is set in a way that cannot be changed here.", "Change it with `swecli config edit`.")


def _behind_value(assignment: str) -> str:
    """What stands behind the value: spaces, a comment, the line's end."""
    signs = [match.start() for match in re.finditer("#", assignment)]
    at = next((sign for sign in signs if _is_toml(assignment[:sign])), len(assignment))
    return assignment[len(assignment[:at].rstrip()) :]


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"The settings file is not valid TOML: {error}", "Correct it with `swecli config edit`."
        ) from error


def _checked(text: str, wanted: dict[str, Any]) -> str:
    """The text, if it says what it should and nothing else. Raises ConfigError."""
    if not _is_toml(text) or tomllib.loads(text) != wanted:
        raise ConfigError("The settings file cannot be changed safely.", "Change it with `swecli config edit`.")
    return text
