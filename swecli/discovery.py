"""Discover plug-ins: objects that modules of a package or installed packages declare. Modules need not register
them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from swecli.models.errors import BadInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

Declared = TypeVar("Declared")


class NameClash(Exception):
    """Two declarations have the same name."""


def find_declared(package: ModuleType, kind: type[Declared], group: str = "") -> list[Declared]:
    """Return all instances of `kind` in the package's modules, sorted by module name, then those of the entry-point
    `group`. An instance that a module imports from another one is returned once. Raises BadInput if an installed one
    cannot be loaded."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    values = [value for module in modules for value in vars(module).values()]
    if group:
        values += [_load(entry) for entry in installed_entry_points(group)]
    declared = [value for value in values if isinstance(value, kind)]
    return list({id(value): value for value in declared}.values())


def _load(entry: EntryPoint) -> object:
    try:
        return entry.load()
    except Exception as error:  # third-party code: any error becomes one line for the user
        raise BadInput(
            f"The plug-in {entry.name!r} cannot be loaded: {type(error).__name__}: {error}.",
            f"Update or remove the package that brings {entry.module}.",
        ) from error


def installed_entry_points(group: str) -> EntryPoints:
    """Return the entry points of a group in all installed packages, without loading them."""
    return _entry_points(group, tuple(sys.path))


@cache  # reading the metadata of all installed packages is slow
def _entry_points(group: str, _path: tuple[str, ...]) -> EntryPoints:
    # late: not needed for declarations in this tree
    from importlib.metadata import entry_points

    return entry_points(group=group)


def index_by_name(pairs: list[tuple[str, Declared]]) -> dict[str, Declared]:
    """Return a dictionary of the pairs. Raises NameClash if a name has two values."""
    table: dict[str, Declared] = {}
    for name, value in pairs:
        if table.setdefault(name, value) is not value:
            raise NameClash(f"two declarations have the name {name!r}")
    return table
