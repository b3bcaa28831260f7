"""Test that the user trusts the contents of a folder's files, and nothing by its name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.config.paths import Paths, project_root
from swecli.config.trust import TrustLedger


@pytest.fixture
def ledger(tmp_path: Path) -> TrustLedger:
    return TrustLedger(tmp_path / "state" / "trust")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_a_folder_is_not_trusted_by_default(ledger: TrustLedger, folder: Path) -> None:
    trust = ledger.trust_in(folder)
    assert not trust.is_trusted
    assert trust.judge(folder / "AGENTS.md", b"x") == "untrusted"


def test_a_file_is_trusted_as_long_as_its_bytes_are_the_approved_ones(
    ledger: TrustLedger, folder: Path
) -> None:
    ledger.approve(folder, {folder / "AGENTS.md": b"be brief\n"})
    trust = ledger.trust_in(folder)
    assert trust.is_trusted
    assert trust.judge(folder / "AGENTS.md", b"be brief\n") == "approved"
    assert trust.judge(folder / "AGENTS.md", b"be brief\r\n") == "changed"
    assert trust.judge(folder / "CLAUDE.md", b"be brief\n") == "new"


def test_approving_one_file_keeps_the_others_and_replaces_its_own_earlier_bytes(
    ledger: TrustLedger, folder: Path
) -> None:
    ledger.approve(folder, {folder / "a.md": b"1", folder / "b.md": b"2"})
    ledger.approve(folder, {folder / "a.md": b"3"})
    trust = ledger.trust_in(folder)
    assert trust.judge(folder / "a.md", b"1") == "changed"
    assert trust.judge(folder / "a.md", b"3") == "approved"
    assert trust.judge(folder / "b.md", b"2") == "approved"


def test_trust_in_a_folder_is_not_trust_in_a_project_below_it_or_above_it(
    ledger: TrustLedger, folder: Path
) -> None:
    (folder / "clone").mkdir()
    ledger.approve(folder, {})
    assert ledger.trust_in(folder).is_trusted
    assert not ledger.trust_in(folder / "clone").is_trusted
    assert not ledger.trust_in(folder.parent).is_trusted


def test_trusting_a_link_to_a_folder_trusts_the_folder(ledger: TrustLedger, folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    ledger.approve(link, {})
    assert ledger.trust_in(folder).is_trusted


@pytest.mark.parametrize(
    "name", ["übung", "a b", " a ", "x\u2028y", "x\x0by", "two\nlines", os.fsdecode(b"\xff")]
)
def test_a_folder_with_an_unusual_name_can_be_trusted(
    ledger: TrustLedger, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    file = folder / os.fsdecode(b"\xfe.md")
    ledger.approve(folder, {file: b"\xff"})
    assert ledger.trust_in(folder).judge(file, b"\xff") == "approved"
    assert [trust.root for trust in ledger.list()[0]] == [folder]


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff", b'{"format": 2}', b'{"format": 1, "folder": "/", "files": {}}'],
)
def test_a_damaged_record_trusts_nothing_and_is_named(
    ledger: TrustLedger, folder: Path, damage: bytes
) -> None:
    ledger.approve(folder, {folder / "AGENTS.md": b"x"})
    record = next((folder.parent / "state" / "trust").iterdir())
    record.write_bytes(damage)
    assert not ledger.trust_in(folder).is_trusted
    assert str(record) in ledger.problem_of(folder)
    folders, problems = ledger.list()
    assert folders == []
    assert len(problems) == 1


def test_a_record_copied_from_another_folder_trusts_nothing(
    ledger: TrustLedger, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    ledger.approve(folder, {})
    record = next((tmp_path / "state" / "trust").iterdir())
    theirs = record.read_bytes()
    record.unlink()
    ledger.approve(tmp_path / "other", {})
    next((tmp_path / "state" / "trust").iterdir()).write_bytes(theirs)
    assert not ledger.trust_in(tmp_path / "other").is_trusted


def test_removed_trust_is_gone(ledger: TrustLedger, folder: Path) -> None:
    ledger.approve(folder, {})
    assert ledger.remove(folder)
    assert not ledger.trust_in(folder).is_trusted
    assert not ledger.remove(folder)


def test_a_record_is_readable_by_its_user_only(ledger: TrustLedger, folder: Path) -> None:
    ledger.approve(folder, {folder / "AGENTS.md": b"x"})
    kept = folder.parent / "state" / "trust"
    assert kept.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in kept.iterdir()] == [0o600]


def test_the_project_root_is_the_enclosing_repository_or_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    assert project_root(tmp_path / "repo" / "src") == tmp_path / "repo"
    assert project_root(tmp_path) == tmp_path


def test_folders_of_the_earlier_list_are_trusted_with_the_files_they_hold_now(
    tmp_path: Path, folder: Path
) -> None:
    paths = Paths.find(os.environ)
    paths.ensure()
    (folder / "AGENTS.md").write_text("be brief\n", encoding="utf-8")
    old = paths.state / "trusted"
    old.write_text(f"{folder}\n{tmp_path / 'gone'}\n", encoding="utf-8")
    trust = TrustLedger.find(paths).trust_in(folder)
    assert trust.judge(folder / "AGENTS.md", b"be brief\n") == "approved"
    assert not old.exists()
    assert [one.root for one in TrustLedger.find(paths).list()[0]] == [folder]


@pytest.fixture
def old_list(tmp_path: Path) -> tuple[TrustLedger, Path, list[Path]]:
    """Return a ledger, the list of an earlier version, and the two folders that it names."""
    named = [tmp_path / "one", tmp_path / os.fsdecode(b"two\xff")]
    for root in named:
        root.mkdir()
        (root / "AGENTS.md").write_text("be brief\n", encoding="utf-8")
    listed = tmp_path / "trusted"
    listed.write_bytes(b"\n".join(os.fsencode(root) for root in named))
    return TrustLedger(tmp_path / "trust", listed), listed, named


def is_approved(ledger: TrustLedger, root: Path) -> bool:
    return ledger.trust_in(root).judge(root / "AGENTS.md", b"be brief\n") == "approved"


def test_the_earlier_list_stays_until_each_of_its_folders_is_recorded(
    old_list: tuple[TrustLedger, Path, list[Path]],
) -> None:
    ledger, listed, named = old_list
    records = listed.parent / "trust"
    records.write_text("no folder: nothing can be recorded")
    assert not ledger.trust_in(named[0]).is_trusted
    assert listed.exists()
    records.unlink()
    assert [is_approved(ledger, root) for root in named] == [True, True]
    assert not listed.exists()


def test_an_adoption_that_was_killed_between_two_folders_goes_on_at_the_next_start(
    old_list: tuple[TrustLedger, Path, list[Path]],
) -> None:
    ledger, listed, named = old_list
    script = (
        "import os, sys; from pathlib import Path; from swecli.config import trust\n"
        "write = trust.write_file\n"
        "def dies_after_one(path, text):\n"
        "    write(path, text)\n"
        "    os._exit(9)\n"
        "trust.write_file = dies_after_one\n"
        "trust.TrustLedger(Path(sys.argv[1]), Path(sys.argv[2])).trust_in(Path())"
    )
    run = [sys.executable, "-c", script, str(listed.parent / "trust"), str(listed)]
    assert subprocess.run(run, timeout=60).returncode == 9
    (named[0] / "AGENTS.md").write_text("changed since it was adopted\n", encoding="utf-8")
    assert [is_approved(ledger, root) for root in named] == [True, True]
    changed = ledger.trust_in(named[0]).judge(
        named[0] / "AGENTS.md", b"changed since it was adopted\n"
    )
    assert changed == "changed", "it is not adopted again"
    assert not listed.exists()


def test_a_folder_whose_trust_was_withdrawn_is_not_adopted_from_what_is_left_of_the_list(
    old_list: tuple[TrustLedger, Path, list[Path]],
) -> None:
    ledger, listed, named = old_list
    ledger.remove(named[0])
    assert [is_approved(ledger, root) for root in named] == [False, True]
    assert not listed.exists()
