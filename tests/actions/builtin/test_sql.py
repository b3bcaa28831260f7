"""Test `swecli sql`, which queries the database read-only."""

from __future__ import annotations

import signal
import time

import pytest

from tests.support.databases import open_database
from tests.support.shell import Run, start_process, wait_for_exit

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def test_rows_are_printed_as_a_table_or_json(run: Run) -> None:
    open_database("x.db").close()
    assert (
        run("sql", "SELECT 1 AS one, 'a\x1b[31mb' AS two", "--db", "x.db").out
        == "one  two\n1    ab\n"
    )
    assert run("sql", "SELECT 1 AS one, NULL AS two", "--json", "--db", "x.db").json == [
        {"one": 1, "two": None}
    ]
    assert run("sql", "SELECT * FROM sessions", "--db", "x.db").out == "No rows.\n"


def test_truncated_rows_are_reported_with_json_too(run: Run) -> None:
    open_database("x.db").close()
    outcome = run("sql", "SELECT 1 AS n UNION SELECT 2", "--limit", "1", "--json", "--db", "x.db")
    assert outcome.json == [{"n": 1}]
    assert "Only the first 1 rows" in outcome.complaint


def test_a_missing_database_has_no_rows_and_is_not_created(run: Run) -> None:
    outcome = run("sql", "SELECT * FROM sessions")
    assert (outcome.code, outcome.out) == (0, "No rows.\n")
    assert "There is no database" in outcome.err


def test_a_query_that_writes_is_refused(run: Run) -> None:
    open_database("x.db").close()
    outcome = run("sql", "DELETE FROM sessions", "--db", "x.db")
    assert outcome.code == 42
    assert "Only read-only queries" in outcome.complaint


def test_copy_prints_its_path_and_does_not_overwrite_a_file(run: Run) -> None:
    open_database("x.db").close()
    assert run("sql", "--copy", "y.db", "--db", "x.db").out.endswith("y.db\n")
    assert run("sql", "--copy", "y.db", "--db", "x.db").code == 42
    assert run("sql", "SELECT 1", "--copy", "z.db", "--db", "x.db").code == 2


@pytest.mark.slow
def test_ctrl_c_interrupts_a_query() -> None:
    open_database("x.db").close()
    process = start_process("sql", ENDLESS, "--db", "x.db")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    outcome = wait_for_exit(process)
    assert outcome.code == 130
    assert outcome.complaint == "swecli: Interrupted."
