"""Test whose memory a folder has, with real git repositories that are moved, copied, cloned and replaced."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from swecli.config.whereabouts import Whereabouts, inode_of
from swecli.models.errors import BadInput
from swecli.models.finding import Finding, ReviewRecord
from swecli.models.ids import uuid7
from swecli.models.playbook import Delta, Op
from swecli.models.project import KeyBasis
from swecli.store.journal.values import folder_key
from swecli.store.projects import ProjectStore
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools import git as git_module
from swecli.tools.projects import open_project
from tests.support.databases import open_database
from tests.support.repositories import commit, git, make_repository


@dataclass
class Memory:
    """A stored memory, as programs that are started one after the other see it."""

    sessions: SessionManager

    def learn(self, folder: Path, *contents: str) -> None:
        """Run a session of one turn in a folder, with strategies and a finding."""
        place = open_project(self.sessions.database, folder)
        session = self.sessions.start(str(folder), "scripted/test", place=place)
        self.sessions.begin_interaction(f"work in {folder.name}")
        self.sessions.finish_interaction("done")
        for content in contents:
            fields = {"content": content, "trust": "user", "scope": "project"}
            self.sessions.playbook.apply(
                Delta(uuid7(), (Op("ADD", fields=fields),), "user"), session
            )

    def find(self, folder: Path, path: str = "a.py") -> None:
        """Store a finding of a review in a folder."""
        store = self.ledger(folder)
        review = store.begin(ReviewRecord(store.project, (path,), path))
        finding = Finding(path=path, line=1, code_smell_type="X", message="m", fingerprint=path)
        store.record(review, [finding])

    def ledger(self, folder: Path) -> ReviewStore:
        database = self.sessions.database
        return ReviewStore(database, open_project(database, folder).project)

    def strategies(self, folder: Path) -> list[str]:
        """Return what the prompt of a new session in a folder has."""
        place = open_project(self.sessions.database, folder)
        session = self.sessions.start(str(folder), "scripted/test", place=place)
        return [bullet.content for bullet in session.playbook.bullets.values()]

    def continued(self, folder: Path) -> str:
        """Return the first query of the session that `-c` resumes in a folder, "" if there is none."""
        place = open_project(self.sessions.database, folder)
        try:
            return self.sessions.resume(None, str(folder), place=place).messages[0].content
        except BadInput:
            return ""

    def seen(self, folder: Path) -> tuple[list[str], int, str]:
        """Return strategies, findings and the session to continue, in a folder."""
        findings = len(self.ledger(folder).findings())
        return self.strategies(folder), findings, self.continued(folder)

    @property
    def notices(self) -> Sequence[str]:
        return self.sessions.database.notices


NOTHING: tuple[list[str], int, str] = ([], 0, "")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(SessionManager(open_database(tmp_path / "memory.db")))


def teach(memory: Memory, folder: Path) -> tuple[list[str], int, str]:
    """Work in a folder; return what it has from now on."""
    memory.learn(folder, "we use tabs")
    memory.find(folder)
    return ["we use tabs"], 1, f"work in {folder.name}"


def test_a_renamed_repository_has_its_memory(memory: Memory, tmp_path: Path) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    moved = (tmp_path / "proj").rename(tmp_path / "moved")
    assert memory.seen(moved) == taught
    assert memory.sessions.session.working_directory == str(moved)


def test_a_subfolder_continues_the_session_of_the_same_subfolder(
    memory: Memory, tmp_path: Path
) -> None:
    make_repository(tmp_path / "proj")
    for name in ("web", "api"):
        (tmp_path / "proj" / name).mkdir()
        memory.learn(tmp_path / "proj" / name)
    (tmp_path / "proj").rename(tmp_path / "moved")
    assert memory.continued(tmp_path / "moved" / "web") == "work in web"
    assert memory.continued(tmp_path / "moved") == ""


def test_a_clone_a_fork_and_each_work_tree_have_the_memory_of_the_repository(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    git(tmp_path, "clone", "-q", "proj", "clone")
    commit(tmp_path / "clone", "the fork goes on")
    git(tmp_path / "proj", "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert memory.seen(tmp_path / "clone") == taught
    assert memory.seen(tmp_path / "tree") == taught


def test_a_work_tree_of_an_orphan_branch_has_the_memory_of_its_repository(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    git(tmp_path / "proj", "worktree", "add", "-q", "--detach", str(tmp_path / "pages"))
    git(tmp_path / "pages", "checkout", "-q", "--orphan", "pages")
    commit(tmp_path / "pages", "another first commit")
    assert memory.seen(tmp_path / "pages") == taught


def test_a_session_of_this_folder_is_continued_before_one_of_another_work_tree(
    memory: Memory, tmp_path: Path
) -> None:
    memory.learn(make_repository(tmp_path / "proj"))
    git(tmp_path / "proj", "worktree", "add", "-q", str(tmp_path / "tree"))
    memory.learn(tmp_path / "tree")
    assert memory.continued(tmp_path / "proj") == "work in proj"


def test_another_repository_at_a_known_path_has_nothing_of_it(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    (tmp_path / "proj").rename(tmp_path / "moved")
    make_repository(tmp_path / "proj", "quite another")
    assert memory.seen(tmp_path / "proj") == NOTHING
    assert memory.seen(tmp_path / "moved") == taught
    assert memory.notices == []


def test_a_repository_in_place_of_a_deleted_one_has_nothing_of_it(
    memory: Memory, tmp_path: Path
) -> None:
    teach(memory, make_repository(tmp_path / "proj"))
    shutil.rmtree(tmp_path / "proj")
    make_repository(tmp_path / "proj", "quite another")
    assert memory.seen(tmp_path / "proj") == NOTHING


def test_a_template_that_was_copied_with_a_new_history_has_nothing_of_it(
    memory: Memory, tmp_path: Path
) -> None:
    teach(memory, make_repository(tmp_path / "template"))
    shutil.copytree(tmp_path / "template", tmp_path / "new", ignore=shutil.ignore_patterns(".git"))
    make_repository(tmp_path / "new", "begun from a template")
    assert memory.seen(tmp_path / "new") == NOTHING


def test_a_template_that_was_copied_with_its_history_has_its_memory(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "template"))
    shutil.copytree(tmp_path / "template", tmp_path / "new")
    assert memory.seen(tmp_path / "new") == taught


def test_a_shallow_clone_has_a_memory_of_its_own_until_its_history_is_whole(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    commit(tmp_path / "proj", "two")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/proj", "shallow")
    shallow = tmp_path / "shallow"
    assert memory.seen(shallow) == NOTHING
    memory.learn(shallow, "learned in the shallow clone")
    shallow = shallow.rename(tmp_path / "renamed")
    assert memory.strategies(shallow) == ["learned in the shallow clone"]
    git(shallow, "fetch", "-q", "--unshallow")
    assert memory.strategies(shallow) == ["we use tabs", "learned in the shallow clone"]
    assert memory.seen(tmp_path / "proj")[1:] == taught[1:]


def test_a_merged_foreign_history_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", "an older library")
    git(library, "branch", "-m", "theirs")
    make_repository(tmp_path / "proj")
    git(tmp_path / "proj", "fetch", "-q", str(library), "theirs")
    words = ("--allow-unrelated-histories", "-s", "ours", "-m", "vendor", "FETCH_HEAD")
    git(tmp_path / "proj", "merge", "-q", *words)
    taught = teach(memory, tmp_path / "proj")
    git(tmp_path, "clone", "-q", "proj", "clone")
    assert memory.seen(tmp_path / "clone") == taught
    assert memory.seen(library) == NOTHING


def test_a_repository_keeps_its_memory_when_its_first_commit_is_rewritten(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    git(tmp_path / "proj", "commit", "-q", "--amend", "-m", "rewritten")
    assert memory.seen(tmp_path / "proj") == taught
    git(tmp_path, "clone", "-q", "proj", "clone")
    assert memory.seen(tmp_path / "clone") == NOTHING  # nothing says where it is from


def test_memory_from_before_the_first_commit_moves_to_the_repository(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "proj").mkdir()
    git(tmp_path / "proj", "init", "-q")
    taught = teach(memory, tmp_path / "proj")
    commit(tmp_path / "proj", "the first")
    assert memory.seen(tmp_path / "proj") == taught
    git(tmp_path, "clone", "-q", "proj", "clone")
    assert memory.seen(tmp_path / "clone") == taught


def test_a_run_that_began_before_the_first_commit_loses_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    git(folder, "init", "-q")
    place = open_project(memory.sessions.database, folder)
    commit(folder, "the first")
    memory.strategies(folder)  # another run, which finds the commit
    memory.sessions.start(str(folder), "scripted/test", place=place)
    memory.sessions.begin_interaction("stored by the first run")
    assert memory.continued(folder) == "stored by the first run"


def test_a_folder_without_git_has_its_memory_by_its_path(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    taught = teach(memory, folder)
    (folder / "all.txt").write_text("new since then", encoding="utf-8")
    assert memory.seen(folder) == taught


def test_a_renamed_folder_without_git_has_its_memory(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "all.txt").write_text("some", encoding="utf-8")
    taught = teach(memory, folder)
    moved = folder.rename(tmp_path / "moved")
    folder.mkdir()
    assert memory.seen(folder) == NOTHING
    assert memory.seen(moved) == taught


def test_git_init_in_a_folder_keeps_its_memory(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "all.txt").write_text("some", encoding="utf-8")
    taught = teach(memory, folder)
    make_repository(folder)
    assert memory.seen(folder) == taught
    assert memory.notices == []


def test_one_line_asks_where_neither_can_be_told(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    teach(memory, folder)
    folder.rename(tmp_path / "away")
    shutil.rmtree(tmp_path / "away")
    folder.mkdir()
    make_repository(folder)
    assert memory.seen(folder) == NOTHING
    assert memory.notices == [
        f"the same project as {folder} was before (1 strategy, 1 finding, 1 session)?"
        f" `swecli playbook adopt {folder}` takes that over"
    ]


def test_memory_of_an_earlier_version_moves_to_the_repository_at_the_first_opening(
    memory: Memory, tmp_path: Path
) -> None:
    folder = make_repository(tmp_path / "proj")
    session = memory.sessions.start(str(folder), "scripted/test", project=str(folder))
    memory.sessions.begin_interaction("stored by path")
    fields = {"content": "we use tabs", "trust": "user", "scope": "project"}
    delta = memory.sessions.playbook.apply(
        Delta(uuid7(), (Op("ADD", fields=fields),), "user"), session
    )
    memory.sessions.playbook.apply(
        Delta(uuid7(), (Op("REMOVE", delta.added[0]),), "user"), memory.sessions.session
    )
    git(tmp_path, "clone", "-q", "proj", "clone")
    assert memory.continued(folder) == "stored by path"
    assert memory.strategies(tmp_path / "clone") == []
    memory.sessions.playbook.undo(memory.sessions.session)
    assert memory.strategies(tmp_path / "clone") == ["we use tabs"]


def test_a_known_repository_is_opened_without_git(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    git(tmp_path / "proj", "worktree", "add", "-q", str(tmp_path / "tree"))
    monkeypatch.setattr(git_module, "first_commit", None)
    (tmp_path / "proj").rename(tmp_path / "moved")
    assert memory.seen(tmp_path / "moved") == taught


def test_a_folder_whose_git_refuses_has_the_memory_of_its_git_folder(
    memory: Memory, tmp_path: Path
) -> None:
    folder = make_repository(tmp_path / "proj")
    (folder / ".git" / "config").write_text("[core", encoding="utf-8")
    taught = teach(memory, folder)
    git_folder = folder_key(str(folder / ".git"))
    [record] = ProjectStore(memory.sessions.database).recorded(Whereabouts.of(folder))
    assert (record.project, record.basis) == (git_folder, KeyBasis.REPOSITORY)
    assert memory.seen(folder) == taught


@pytest.mark.parametrize("text", ["gitdir: /nowhere", "nonsense", "gitdir: \0"])
def test_a_git_file_that_leads_nowhere_makes_no_repository(
    memory: Memory, tmp_path: Path, text: str
) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / ".git").write_text(text, encoding="utf-8")
    assert open_project(memory.sessions.database, folder).project == str(folder)


def test_a_database_that_cannot_be_written_is_read_all_the_same(
    memory: Memory, tmp_path: Path
) -> None:
    taught = teach(memory, make_repository(tmp_path / "proj"))
    memory.sessions.database.is_read_only = True
    moved = (tmp_path / "proj").rename(tmp_path / "moved")
    assert memory.seen(moved) == taught


def test_a_repository_with_the_disk_number_of_a_deleted_folder_is_not_asked_about(
    memory: Memory, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    teach(memory, gone)
    gone.rmdir()
    folder = make_repository(tmp_path / "proj")
    with memory.sessions.database.write() as db:
        db.execute("UPDATE project_folder SET inode = ?", (inode_of(folder / ".git"),))
        db.execute("UPDATE project_folder SET seen_at = '2000-01-01 00:00:00.000000'")
        db.execute("UPDATE session SET updated_at = '2000-01-01 00:00:00.000000'")
    assert memory.seen(folder) == NOTHING
    assert memory.notices == []
