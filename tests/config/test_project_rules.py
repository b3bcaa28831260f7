"""Test the permission rules that are stored per project folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.config.paths import ProjectRules
from swecli.models.errors import ConfigError


def test_rules_are_kept_by_folder_for_this_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "home" / "permissions.toml"
    assert ProjectRules(file, tmp_path / "a").rules == ()
    assert not file.exists()
    first, second = ProjectRules(file, tmp_path / "a"), ProjectRules(file, tmp_path / "b")
    first.add("run(make *)")
    second.add("run(pytest *)")
    first.add("run(make *)")
    first.add("edit(**)")
    assert ProjectRules(file, tmp_path / "a").rules == ("run(make *)", "edit(**)")
    assert ProjectRules(file, tmp_path / "b").rules == ("run(pytest *)",)
    assert ProjectRules(file, tmp_path / "a" / "below").rules == ()
    assert file.stat().st_mode & 0o777 == 0o600
    first.remove("run(make *)")
    assert ProjectRules(file, tmp_path / "a").rules == ("edit(**)",)


def test_a_link_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    ProjectRules(tmp_path / "p.toml", tmp_path / "link").add("run(make)")
    assert ProjectRules(tmp_path / "p.toml", tmp_path / "real").rules == ("run(make)",)


@pytest.mark.parametrize("text", ["[", "a = 1", "[a]", "[a]\nallow = 1", "[a]\nallow = [1]"])
def test_a_file_that_swecli_did_not_write_is_named_and_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "p.toml"
    rules = ProjectRules(file, tmp_path)
    file.write_text(text)
    with pytest.raises(ConfigError, match="p.toml"):
        ProjectRules(file, tmp_path)
    with pytest.raises(ConfigError, match="p.toml"):
        rules.add("run(make)")
    assert file.read_text() == text


def test_the_file_is_offered_only_where_it_can_be_written(tmp_path: Path) -> None:
    assert ProjectRules(tmp_path / "new" / "p.toml", tmp_path).writable_file() == str(tmp_path / "new" / "p.toml")
    (tmp_path / "p.toml").mkdir()
    (tmp_path / "file").write_text("")
    assert ProjectRules(tmp_path / "file" / "p.toml", tmp_path).writable_file() == ""


@given(rule=st.text(min_size=1).filter(lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text)))
def test_any_rule_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, rule: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    ProjectRules(folder / "p.toml", folder / '[a]"b').add(rule)
    assert ProjectRules(folder / "p.toml", folder / '[a]"b').rules == (rule,)
