"""A small project for journeys: a module, its tests and a git repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

FILES = {
    "README.md": "# shop\n\nPrices with tax.\n",
    "shop/__init__.py": "",
    "shop/prices.py": '''"""Prices with tax."""

TAX = 0.19


def gross(net: float) -> float:
    """A price with tax."""
    return net * (1 + TAX)


def total(nets: list[float]) -> float:
    """All prices with tax."""
    return sum(gross(net) for net in nets)
''',
    "tests/test_prices.py": """from shop.prices import gross, total


def test_gross():
    assert round(gross(100), 2) == 119


def test_total():
    assert round(total([100, 200]), 2) == 357
""",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "0.1"\n\n[tool.pytest.ini_options]\npythonpath = ["."]\n',
}


def make_project(folder: Path) -> Path:
    """Write the project into `folder`, as the first commit of a repository."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q", "."], ["add", "-A"], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder
