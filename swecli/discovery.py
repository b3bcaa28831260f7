"""Collect what modules of a package declare. Nothing registers itself at import: discovery returns a list."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

Declared = TypeVar("Declared")


class NameClash(Exception):
    """Two declared things want one name."""


def find_declared(package: ModuleType, kind: type[Declared], group: str = "") -> list[Declared]:
    """Every `kind` instance declared at the top of the package's modules, then those of entry-point `group`.

    Sorted by module name, so that the order is the same everywhere. A module lists a thing by defining it;
    what it imports from a sibling is found once.
    """
    found: dict[int, Declared] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, kind):
                found[id(value)] = value
    for entry in installed_entry_points(group) if group else ():
        value = entry.load()
        if isinstance(value, kind):
            found[id(value)] = value
    return list(found.values())


def installed_entry_points(group: str) -> EntryPoints:
    """The entry points of that group which installed packages bring; none of them is loaded."""
    return _entry_points(group, tuple(sys.path))


@cache  # each look reads the metadata of all that is installed
def _entry_points(group: str, _path: tuple[str, ...]) -> EntryPoints:
    # late: what is declared in this tree is found without it
    from importlib.metadata import entry_points  # noqa: PLC0415

    return entry_points(group=group)


def index_by_name(pairs: list[tuple[str, Declared]]) -> dict[str, Declared]:
    """A dictionary of named things. Raises NameClash when a name stands for two of them."""
    table: dict[str, Declared] = {}
    for name, value in pairs:
        if table.setdefault(name, value) is not value:
            raise NameClash(f"two declarations want the name {name!r}")
    return table
