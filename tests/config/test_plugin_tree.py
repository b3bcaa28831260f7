"""Test which files of a plug-in's folder count, what their digest notices, and what is copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.plugin_tree import read_tree
from swecli.models.errors import BadInput
from tests.support.plugins import write_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a text, a program and a link to it."""
    folder = write_files(tmp_path / "plugin", {"a.md": "text", "bin/run": "#!/bin/sh\n"})
    (folder / "bin" / "run").chmod(0o755)
    (folder / "start").symlink_to("bin/run")
    return folder


def test_a_copy_has_the_same_digest_and_may_run_the_same(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    tree = read_tree(folder, copy)
    assert read_tree(copy).digest == tree.digest
    assert os.access(copy / "start", os.X_OK)
    assert (copy / "start").readlink() == Path("bin/run")


def test_the_digest_notices_a_text_a_mode_a_name_and_a_link(folder: Path) -> None:
    digests = [read_tree(folder).digest]
    (folder / "a.md").write_text("other")
    digests.append(read_tree(folder).digest)
    (folder / "a.md").chmod(0o755)
    digests.append(read_tree(folder).digest)
    (folder / "a.md").rename(folder / "b.md")
    digests.append(read_tree(folder).digest)
    (folder / "start").unlink()
    (folder / "start").symlink_to("b.md")
    digests.append(read_tree(folder).digest)
    assert len(set(digests)) == len(digests)


def test_what_git_keeps_there_does_not_count(folder: Path) -> None:
    before = read_tree(folder).digest
    write_files(folder, {".git/HEAD": "ref", "bin/.git": "gitdir: elsewhere"})
    assert read_tree(folder).digest == before


def test_links_that_lead_out_and_pipes_are_left_out_and_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    (folder / "up").symlink_to("../secret")
    (folder / "whole").symlink_to("/etc")
    (folder / "itself").symlink_to(folder / "a.md")  # absolute: the copy's would lead back
    (folder / "around").symlink_to(".")
    os.mkfifo(folder / "pipe")
    copy = tmp_path / "copy"
    copy.mkdir()
    tree = read_tree(folder, copy)
    left_out = [line.split(" ")[0] for line in tree.problems]
    assert left_out == ["around", "itself", "pipe", "up", "whole"]
    assert sorted(path.name for path in copy.iterdir()) == ["a.md", "bin", "start"]


def test_a_file_of_100_mb_is_refused_in_one_line(folder: Path) -> None:
    with (folder / "model.bin").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(
        BadInput, match=r"more than 20,000,000 bytes, with model.bin of 100,000,000"
    ):
        read_tree(folder)


def test_a_file_that_may_not_be_read_is_named(folder: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (folder / "a.md").chmod(0)
    with pytest.raises(BadInput, match=r"a\.md cannot be read"):
        read_tree(folder)
