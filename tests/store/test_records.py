"""Test the summaries of sessions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from swecli.models.message import Usage
from swecli.models.money import format_spent
from swecli.store.records import UsageTotals


def test_an_unknown_cost_makes_the_sum_unknown() -> None:
    known = UsageTotals(Usage(1), 0.5, 1)
    unknown = UsageTotals(Usage(2), None, 1)
    assert known + known == UsageTotals(Usage(2), 1.0, 2)
    assert known + unknown == unknown + known == UsageTotals(Usage(3), None, 2)
    assert sum([], UsageTotals()) == UsageTotals(Usage(), 0.0, 0)


def test_importing_records_does_not_import_sqlmodel() -> None:
    heavy = "{'sqlmodel', 'sqlalchemy', 'sqlite3', 'pydantic'}"
    imports = "import sys; from swecli.store import records, search_results, undo_records"
    code = f"{imports}; print({heavy} & set(sys.modules))"
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert result.stdout == "set()\n"


def test_the_known_part_of_a_cost_is_kept_beside_the_unknown_one() -> None:
    known = UsageTotals(Usage(1), 0.5, 1, known_cost=0.5)
    unknown = UsageTotals(Usage(2), None, 1, unpriced=1)
    total = known + known + unknown
    spent = format_spent(total.cost, total.known_cost, total.unpriced)
    assert spent == "at least $1.00 (price of 1 request not known)"
