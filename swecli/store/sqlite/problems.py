"""Find problems in a database of the newest version."""

from __future__ import annotations

import sqlite3

from swecli.store.sqlite.search_index import SEARCHED, rebuild_statement


def find_problems(db: sqlite3.Connection) -> list[str]:
    """Check structure, references and search indexes, which are rebuilt if broken; return at most 100 lines. Must run
    in a transaction."""
    problems = []
    for (line,) in db.execute("PRAGMA integrity_check(100)"):
        if line != "ok":
            problems.append(f"structure: {line}")
    for table, _rowid, parent, _number in db.execute("PRAGMA foreign_key_check"):
        problems.append(f"references: a row of {table} belongs to no {parent}")
    for table in SEARCHED:
        try:
            db.execute(f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)")
        except sqlite3.Error:
            db.execute(rebuild_statement(table))
            problems.append(f"search: the index of {table} did not match it and was rebuilt")
    return problems[:100]
