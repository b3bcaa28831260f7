"""Print the table of a port: python tools/tables.py PORT [--check]."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ebb.heights import height  # noqa: E402

PORTS = {"brest": (1.05, 6.95)}

port, check = sys.argv[1], "--check" in sys.argv
rows = "".join(f"{hour} {height(*PORTS[port], hour)}\n" for hour in range(7))
public = (ROOT / "ebb" / "heights.py").read_text().count("\ndef ")
text = f"{port}, {public} functions\n{rows}"
table = ROOT / "tables" / f"{port}.txt"
if not check:
    table.write_text(text)
elif table.read_text() != text:
    print(f"tables/{port}.txt is not what ebb computes: write it by `python tools/tables.py {port}`")
    sys.exit(3)
