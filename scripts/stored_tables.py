"""Write the journal's plain tables from the SQLModel classes, the only declaration of what is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Boolean, Column, Float, Table

from swecli.store.tables import playbook, projects, reviews, sessions, turns, undo  # noqa: F401  # defines the tables
from swecli.store.tables.columns import (
    Arguments,
    CleanJson,
    CleanText,
    FileName,
    Money,
    Number,
    UtcTime,
)
from swecli.store.tables.sessions import Row

HEAD = '''"""The tables as plain sqlite3 reads and writes them.

Written by scripts/reference from swecli/store/tables: change the classes there, not this file."""
'''
KINDS = {
    CleanText: "TEXT",
    FileName: "FILE_NAME",
    Number: "NUMBER",
    CleanJson: "JSON",
    Arguments: "ARGUMENTS",
    UtcTime: "MOMENT",
    Money: "REAL",
    Float: "REAL",
    Boolean: "FLAG",
}


def write_tables() -> str:
    """Return the text of swecli/store/journal/tables.py."""
    imports: dict[str, set[str]] = {}
    tables = "\n".join(_table(row, imports) for row in row_classes() if row.in_journal)
    used = {"swecli.store.journal.table": _names_in(tables)} | imports
    lines = [_import(module, names) for module, names in sorted(used.items())]
    return "\n".join([HEAD, "from __future__ import annotations\n", *lines, "", tables, ""])


def row_classes() -> list[Any]:
    """Return the classes of the tables, parents before children."""
    classes = {mapper.local_table.name: mapper.class_ for mapper in Row._sa_registry.mappers}
    return [classes[table.name] for table in Row.metadata.sorted_tables]


def _names_in(tables: str) -> set[str]:
    """Return the names of `journal.table` that the tables use."""
    names = {"Column", "Table", "ASSIGNED", "json_of", "text_of", "now", *KINDS.values()}
    return {name for name in names if re.search(rf"\b{name}[,()]", tables)}


def _import(module: str, names: set[str]) -> str:
    line = f"from {module} import {', '.join(_sorted(names))}"
    if len(line) <= 100:
        return line
    listed = "".join(f"    {name},\n" for name in _sorted(names))
    return f"from {module} import (\n{listed})"


def _sorted(names: set[str]) -> list[str]:
    """Sort as ruff does: constants, classes, functions."""
    return sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))


def _table(row: Any, imports: dict[str, set[str]]) -> str:
    table: Table = row.__table__
    lines = [f"{table.name.upper()} = Table(", f'    "{table.name}",', "    {"]
    lines += [f'        "{column.name}": {_column(column, imports)},' for column in table.columns]
    lines.append("    },")
    if fields := row.stored_fields():
        lines += ["    fields=(", *(f'        "{name}",' for name in fields), "    ),"]
    return "\n".join([*lines, ")"])


def _column(column: Column[Any], imports: dict[str, set[str]]) -> str:
    default = _default(column)
    return f"Column({_kind(column, imports)}{', ' if default else ''}{default})"


def _kind(column: Column[Any], imports: dict[str, set[str]]) -> str:
    typed = list(_conversions(column))
    for function in typed:
        imports.setdefault(function.__module__, set()).add(function.__qualname__.partition(".")[0])
    names = ", ".join(function.__qualname__ for function in typed)
    if not names:
        return KINDS[type(column.type)]
    maker = "json_of" if isinstance(column.type, CleanJson) else "text_of"
    return f"{maker}({names})"


def _conversions(column: Column[Any]) -> Iterator[Callable[..., Any]]:
    """Yield the functions between what is stored and the type of the values, if the column names any."""
    for name in ("read", "write"):
        if function := column.info.get(name):
            yield function


def _default(column: Column[Any]) -> str:
    """Return the default as source, "" if every row must give a value."""
    if _is_assigned(column):
        return "ASSIGNED"
    default: Any = column.default
    if default is None:
        return "None" if column.nullable or isinstance(column.type, CleanJson) else ""
    if default.is_callable:
        return "now"
    return json.dumps(default.arg) if isinstance(default.arg, str) else repr(default.arg)


def _is_assigned(column: Column[Any]) -> bool:
    """Whether SQLite assigns the column's value: an integer key that refers to no other table."""
    is_only_key = column.primary_key and len(column.table.primary_key) == 1
    return is_only_key and isinstance(column.type, Number) and not column.foreign_keys
