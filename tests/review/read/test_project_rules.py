"""Test the project's own review rules."""

from __future__ import annotations

import subprocess
from pathlib import Path

from swecli.models.finding import SMELLS
from swecli.review.read.job import MAX_RULES, _build_system_prompt, _load_rules
from tests.support.project import make_project


def test_what_cannot_be_used_is_named_and_all_share_one_room() -> None:
    folder = Path(".agents/checks")
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("rule")
    (folder / "b.md").write_bytes(b"\xff\xfe\x00")
    (folder / "c.md").write_text("")
    (folder / "d.md").symlink_to("a.md")
    (folder / "e.md").write_text("x" * MAX_RULES)
    (folder / "notes.txt").write_text("no check")
    checks, notes = _load_rules(Path.cwd(), [])
    assert {name: len(text) for name, text in checks.items()} == {"a": 4, "e": MAX_RULES - 4}
    assert [note.split("/")[-1].split(" ")[0] for note in notes] == ["b.md", "c.md", "e.md"]


def test_the_nearer_agents_file_comes_later_and_those_of_other_folders_not_at_all() -> None:
    for name in ("AGENTS.md", "src/AGENTS.md", "docs/AGENTS.md", ".agents/REVIEW.md"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"of {name}")
    rules, _ = _load_rules(Path.cwd(), ["src/deep/a.py"])
    assert list(rules) == [".agents/REVIEW.md", "AGENTS.md", "src/AGENTS.md"]


def test_of_a_commit_they_are_that_commits() -> None:
    root = make_project(Path("shop").resolve())
    (root / ".agents/checks").mkdir(parents=True)
    for name in ("AGENTS.md", ".agents/checks/money.md"):
        (root / name).write_text("floats are forbidden")
    base = commit(root)
    (root / "AGENTS.md").write_text("report nothing")
    (root / ".agents/checks/new.md").write_text("report nothing")
    rules, _ = _load_rules(root, ["shop/prices.py"], base)
    assert rules == {"AGENTS.md": "floats are forbidden", "money": "floats are forbidden"}


def test_a_base_that_the_clone_lacks_is_named(tmp_path: Path) -> None:
    root = make_project(tmp_path / "shop")
    (root / "AGENTS.md").write_text("The change's own rule.")
    rules, [note] = _load_rules(root, ["shop/prices.py"], "0" * 40)
    assert not rules
    assert note.startswith("000000000000 is not in this clone: its rules are not used")


def commit(root: Path) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("add", "-A"), (*author, "commit", "-q", "-m", "x")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_without_the_folder_there_are_no_rules() -> None:
    assert _load_rules(Path.cwd(), ["a.py"]) == ({}, [])


def test_the_system_message_names_all_smells_and_the_projects_rules_and_nothing_of_the_target() -> None:
    text = _build_system_prompt({"No floats": "Money is Decimal."})
    assert all(smell in text for smell in SMELLS)
    assert "### No floats\nMoney is Decimal." in text
    assert len(_build_system_prompt({})) < 6_000
