"""The small project that the labelled candidates speak of: its files, programs and instructions, really there."""

from __future__ import annotations

import json
from pathlib import Path

from swecli.playbook.here import Here

INSTRUCTIONS = """# shop

- Run `make check` before every commit.
- Use four spaces for indentation in Python files.
- Commit messages are in English and in the imperative.
- Never edit files in migrations/ that were merged; add a new one.
- Prices are stored in cents, as integers.
- The public API must stay backward compatible.
"""
MAKEFILE = "check: lint test\ntest:\n\tpytest -q\nlint:\n\truff check\nseed:\n\tpython scripts/seed.py\n"
FILES = {
    "AGENTS.md": INSTRUCTIONS,
    "Makefile": MAKEFILE,
    "package.json": json.dumps({"scripts": {"build": "vite build", "test": "vitest", "lint": "eslint web"}}),
    **dict.fromkeys(
        (
            "README.md",
            "pyproject.toml",
            "docker-compose.yml",
            "Dockerfile",
            ".env.example",
            "config/settings.toml",
            "docs/setup.md",
            "docs/adr/0001.md",
            "migrations/0001_init.sql",
            "scripts/seed.py",
            "scripts/setup",
            "src/shop/db.py",
            "src/shop/prices.py",
            "src/shop/api/users.py",
            "tests/unit/test_prices.py",
            "tests/integration/test_api.py",
            "web/src/App.tsx",
        ),
        "",
    ),
}
PROGRAMS = ("alembic", "docker", "git", "make", "mypy", "node", "npm", "psql", "pytest", "python", "ruff", "sh")
TOOLS = ("edit_file", "list_files", "read_file", "read_result", "run_command", "search_files", "todo", "write_file")


def make_shop(folder: Path) -> Here:
    """Write the project into `folder`, with programs of its own, and look at it from there."""
    root, programs = folder / "shop", folder / "programs"
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    return Here(root, str(programs), TOOLS)
