"""Test moving what lies under the key of a project, and what is left under keys that no folder has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from swecli.config.whereabouts import Whereabouts
from swecli.models.finding import Finding, ReviewRecord
from swecli.models.project import KeyBasis
from swecli.store.projects import ProjectStore, make_record
from swecli.store.reviews import ReviewStore
from swecli.store.sqlite.database import Database


def report(memory: Database, project: str, *paths: str) -> ReviewStore:
    """Store a review with a finding for each path."""
    store = ReviewStore(memory, project)
    review = store.begin(ReviewRecord(project, paths, "review"))
    findings = [
        Finding(path=path, line=1, code_smell_type="X", message="m", fingerprint=path)
        for path in paths
    ]
    store.record(review, findings)
    return store


def test_a_finding_of_both_projects_becomes_one_with_the_history_of_both(memory: Database) -> None:
    old = report(memory, "/old", "a.py", "b.py")
    new = report(memory, "/new", "a.py")
    [shared, _] = old.findings()
    old.update([replace(shared, state="dismissed")], by="user")
    ProjectStore(memory).move("/old", "/new")
    assert [finding.path for finding in new.findings()] == ["b.py", "a.py"]
    [kept] = [finding for finding in new.findings() if finding.path == "a.py"]
    assert [change.after for change in new.history(kept.id)] == ["dismissed"]
    assert old.findings() == []
    assert {finding.path for finding in new.findings_of("R-1")} == {"a.py", "b.py"}


def test_what_lies_under_a_path_that_is_gone_is_left(memory: Database, tmp_path: Path) -> None:
    report(memory, str(tmp_path), "a.py")
    report(memory, "/gone", "a.py", "b.py")
    [left] = ProjectStore(memory).left_memories()
    assert (left.name, left.contents, left.used_at) == ("/gone", "2 findings", None)


def test_what_a_deleted_repository_had_is_left_under_its_folder(
    memory: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    store = ProjectStore(memory)
    store.record(make_record(Whereabouts.of(folder), "commit:abc", KeyBasis.COMMIT, "abc"))
    report(memory, "commit:abc", "a.py")
    assert store.left_memories() == []
    folder.rmdir()
    [left] = store.left_memories()
    assert (left.project, left.name) == ("commit:abc", str(folder))
