"""The settings of a repository that a turn changed, such as its remotes, and the commands that take that back."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence

from swecli.redact import has_secret
from swecli.store.undo_records import LastingChange
from swecli.undo.standing import Standing

_REMOTE = "remote."
_BRANCH = "branch."


def compare_settings(before: Mapping[str, str], after: Mapping[str, str]) -> list[LastingChange]:
    """Return what changed in the settings of a repository. Of a value that may be a secret only a digest is kept."""
    changes: list[LastingChange] = []
    for key in sorted(before.keys() | after.keys()):
        old = before.get(key, "")
        new = after.get(key, "")
        if old == new:
            continue
        if has_secret(f"{key} = {old}\n{key} = {new}"):
            changes.append(LastingChange("secret", key, _digest(old), _digest(new)))
        else:
            changes.append(LastingChange("setting", key, old, new))
    return changes


def standing_settings(
    changes: Sequence[LastingChange], present: Mapping[str, str], made_branches: Sequence[str]
) -> list[Standing]:
    """Return the lines on settings that are as the changes left them, remotes last: to remove one also removes what
    branches say of it. With one of the `made_branches` its settings are removed."""
    standing_keys = {
        change.name: change
        for change in changes
        if (change.kind == "setting" and present.get(change.name, "") == change.after)
        or (change.kind == "secret" and _digest(present.get(change.name, "")) == change.after)
    }
    for branch in made_branches:
        _take_section(f"{_BRANCH}{branch}", standing_keys)
    remotes: list[Standing] = []
    others: list[Standing] = []
    for section in _made_sections(standing_keys, present):
        if section.startswith(_REMOTE):
            name = shlex.quote(section.removeprefix(_REMOTE))
            remotes.append(Standing(f"remote {name} stays", f"git remote remove {name}"))
            _take_section(section, standing_keys)
        elif section.startswith(_BRANCH):
            name = shlex.quote(section.removeprefix(_BRANCH))
            remedy = f"git config --remove-section {shlex.quote(section)}"
            others.append(Standing(f"git's settings of branch {name} stay", remedy))
            _take_section(section, standing_keys)
    others += [_describe(change) for change in standing_keys.values()]
    return [*others, *remotes]


def _made_sections(
    standing_keys: Mapping[str, LastingChange], present: Mapping[str, str]
) -> Iterator[str]:
    """Yield the sections all of whose settings were made by the changes."""
    for section in dict.fromkeys(map(_section, standing_keys)):
        keys = [key for key in present if _section(key) == section]
        if keys and all(key in standing_keys and not standing_keys[key].before for key in keys):
            yield section


def _section(key: str) -> str:
    return key.rpartition(".")[0]


def _take_section(section: str, standing_keys: dict[str, LastingChange]) -> None:
    for key in [key for key in standing_keys if _section(key) == section]:
        del standing_keys[key]


def _describe(change: LastingChange) -> Standing:
    name = f"git's setting {change.name}"
    key = shlex.quote(change.name)
    if not change.before:
        return Standing(f"{name} stays", f"git config --unset-all {key}")
    ending = "changed" if change.after else "removed"
    is_one_value = change.kind == "setting" and "\n" not in change.before
    remedy = f"git config {key} {shlex.quote(change.before)}" if is_one_value else ""
    return Standing(f"{name} stays {ending}", remedy)


def _digest(value: str) -> str:
    """Return what tells a value from others, "" of none."""
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest() if value else ""
