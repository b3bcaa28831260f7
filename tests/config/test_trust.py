"""Test that the user trusts the contents of a folder's files, and nothing by its name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.paths import project_root
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
