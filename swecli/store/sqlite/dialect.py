"""One SQLAlchemy dialect for all databases of a process: a statement is compiled once, not for each database."""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

NAME = "swecli"  # in an engine's URL


class OneDialect(SQLiteDialect_pysqlite):
    """SQLite's dialect, made at most once: the caches of compiled statements and of types are kept by dialect."""

    supports_statement_cache = True
    _one: OneDialect | None = None
    _compiled: Any = LRUCache(2_000)

    def __new__(cls, **_arguments: Any) -> OneDialect:
        cls._one = cls._one or super().__new__(cls)
        return cls._one

    def __init__(self, **arguments: Any) -> None:
        if not vars(self):  # each engine passes the same arguments
            super().__init__(**arguments)

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """What a new engine compiles is there for those that come."""
        engine.update_execution_options(compiled_cache=cls._compiled)


registry.register(NAME, __name__, OneDialect.__name__)
