"""Test each setting's declaration, how the layers of settings are merged, and the errors for values that cannot be
used."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.config.settings import SETTINGS, Settings, load_settings, unknown_setting
from swecli.models.errors import ConfigError
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import make_start


def test_a_setting_has_an_environment_variable_of_its_name_unless_it_is_a_list() -> None:
    assert SETTINGS["max_turns"].variable == "SWECLI_MAX_TURNS"
    assert SETTINGS["allow"].variable == ""  # A list is not plain text.
    assert "origins" not in SETTINGS


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_description_and_accepts_its_default(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.doc.strip()
    assert getattr(Settings(), name) == setting.default
    if setting.default is not None:
        written = (
            str(setting.default) if isinstance(setting.default, WindowSpec) else setting.default
        )
        assert setting.parse(written) == setting.default


def test_settings_are_compared_without_their_origins() -> None:
    assert Settings(origins={"model": "flags"}) == Settings()


def load(user: str = "", project: str | None = None, **layers: Any) -> tuple[Settings, list[str]]:
    """Load settings from the texts of a user file and a project file; `layers` may hold `environ` and `flags`."""
    Path("user.toml").write_text(user, encoding="utf-8")
    return load_settings(
        user_file=Path("user.toml"),
        project_file=None if project is None else Path("project.toml"),
        project_text=project or "",
        environ=layers.get("environ", {}),
        flags=layers.get("flags", {}),
    )


def test_without_any_layer_the_defaults_apply() -> None:
    settings, notices = load_settings(
        user_file=Path("none"), project_file=Path("none"), environ={}, flags={}
    )
    assert settings == Settings()
    assert not settings.origins
    assert not notices


def test_later_layers_override_earlier_ones_and_origins_name_the_layer() -> None:
    settings, _ = load(
        'model = "a/b"\nwindow = 3\nmax_turns = 4\nmode = "edits"',
        'mode = "plan"',
        environ={"SWECLI_MAX_TURNS": "7", "SWECLI_WINDOW": "4"},
        flags={"window": "full", "model": None},
    )
    assert (settings.model, settings.max_turns, settings.mode) == ("a/b", 7, "plan")
    assert settings.window == WindowSpec(mode="full")
    assert settings.origins == {
        "model": "user.toml",
        "window": "flags",
        "max_turns": "environment",
        "mode": "project.toml",
    }


def test_an_empty_variable_counts_as_not_set() -> None:
    settings, _ = load("max_turns = 4", environ={"SWECLI_MAX_TURNS": ""})
    assert settings.max_turns == 4


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('allow = ["run"]', "allow"),
        ('model = "x/y"', "model"),
        ('reflect_model = "x/y"', "reflect_model"),
        ('db = "theirs.db"', "db"),
        ('mode = "auto"', "mode"),
        ('sandbox = "off"', "sandbox"),
        ("max_turns = 51", "max_turns"),
        ("max_budget_usd = 9.0", "max_budget_usd"),
        ("reflect_percent = 16", "reflect_percent"),
        ('max_turns = "51"', "max_turns"),
    ],
)
def test_a_project_setting_that_does_not_tighten_permissions_is_ignored_with_a_notice(
    text: str, name: str
) -> None:
    settings, notices = load("max_budget_usd = 2.0", text)
    assert getattr(settings, name) == getattr(load("max_budget_usd = 2.0")[0], name)
    assert notices == [
        f"project.toml: {name} is ignored, a project file may only tighten permissions"
    ]


def test_a_project_file_can_tighten_permissions_and_limits() -> None:
    settings, notices = load(
        'mode = "edits"\ndeny = ["run(rm*)"]',
        'mode = "ask"\ndeny = ["read(.env)"]\nask = ["run"]\nmax_budget_usd = 1\nmax_turns = 5\nsandbox = "required"',
    )
    assert settings.sandbox == "required"
    assert (settings.mode, settings.max_budget_usd, settings.max_turns) == ("ask", 1.0, 5)
    assert settings.deny == ("run(rm*)", "read(.env)")
    assert settings.ask == ("run",)
    assert not notices


@pytest.mark.parametrize("percent", ["49", "101", "0", "-2", "x", ""])
def test_an_invalid_profile_threshold_is_refused(percent: str) -> None:
    with pytest.raises(ConfigError, match=r"50 to 100, or -1"):
        load(f'profile_thresholds = ["review=60", "code=-1", "default={percent}"]')


@pytest.mark.parametrize(
    "text", ["mode = ", "a = 1\na = 2", "= 3", "[[[", "x = 1_", 'm = "\\q"', "\x00"]
)
def test_invalid_toml_is_an_error_that_names_the_file(text: str) -> None:
    with pytest.raises(ConfigError, match=r"user\.toml is not valid TOML"):
        load(text)


def test_a_file_that_is_not_utf8_is_an_error_that_names_it() -> None:
    Path("user.toml").write_bytes(b'model = "\xff"')
    with pytest.raises(ConfigError, match="user.toml is not valid TOML"):
        load_settings(user_file=Path("user.toml"), project_file=None, environ={}, flags={})


def test_a_byte_order_mark_is_accepted() -> None:
    Path("user.toml").write_bytes(b"\xef\xbb\xbfmax_turns = 3")
    assert (
        load_settings(user_file=Path("user.toml"), project_file=None, environ={}, flags={})[
            0
        ].max_turns
        == 3
    )


def test_a_folder_in_place_of_the_settings_file_is_an_error() -> None:
    Path("user.toml").mkdir()
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory\.  Check"):
        load_settings(user_file=Path("user.toml"), project_file=None, environ={}, flags={})


def test_a_missing_settings_file_that_must_exist_is_an_error() -> None:
    with pytest.raises(ConfigError, match="There is no settings file gone.toml"):
        load_settings(
            user_file=Path("gone.toml"), project_file=None, environ={}, flags={}, must_exist=True
        )


def test_an_unknown_setting_is_an_error_that_suggests_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"user\.toml: unknown setting 'windw'\.  Did you mean window\?"
    ):
        load("windw = 3")
    assert "swecli config get" in unknown_setting("xyzzy").hint


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            {"user": "max_turns = 0"},
            r"user\.toml: max_turns: 0 is not a whole number from 1 to 10000\.",
        ),
        (
            {"environ": {"SWECLI_MAX_TURNS": "many"}},
            "SWECLI_MAX_TURNS: 'many' is not a whole number",
        ),
        ({"flags": {"max_budget_usd": "-1"}}, "--max-budget-usd: '-1' is not an amount"),
    ],
)
def test_an_invalid_value_is_reported_with_its_source_and_text(
    layers: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load(**layers)


BAD: list[tuple[str, Any]] = [
    ("model", 5),
    ("model", "a\x00b"),
    ("db", "\udcff"),
    ("window", "0"),
    ("window", "5+"),
    ("window", True),
    ("window", 1001),
    ("window", [5]),
    ("mode", "yolo"),
    ("mode", ["ask"]),
    ("max_turns", True),
    ("max_turns", 1.5),
    ("max_turns", "-1"),
    ("max_turns", "1" * 5000),
    ("max_turns", 10_001),
    ("max_budget_usd", 0),
    ("max_budget_usd", "nan"),
    ("max_budget_usd", "inf"),
    ("max_budget_usd", True),
    ("max_budget_usd", 10**400),
    ("max_budget_usd", []),
    ("learn", "maybe"),
    ("learn", 2),
    ("allow", "run"),
    ("deny", [1]),
    ("command_timeout", 0),
]


@pytest.mark.parametrize(
    ("name", "value"), BAD, ids=[f"{name}-{str(value)[:9]!r}" for name, value in BAD]
)
def test_an_invalid_value_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        SETTINGS[name].parse(value)


@pytest.mark.parametrize(
    ("name", "value", "parsed"),
    [
        ("window", 5, WindowSpec(5)),
        ("window", " 5+3 ", WindowSpec(5, 3)),
        ("max_turns", " 12 ", 12),
        ("max_budget_usd", "0.5", 0.5),
        ("max_budget_usd", 3, 3.0),
        ("learn", "off", False),
        ("color", "YES", True),
        ("allow", ["run(ls)"], ("run(ls)",)),
        ("model", "", ""),
    ],
)
def test_a_valid_value_is_parsed_from_toml_or_text(name: str, value: Any, parsed: Any) -> None:
    assert SETTINGS[name].parse(value) == parsed


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.sampled_from(sorted(SETTINGS)), plain_values)
def test_any_value_is_either_parsed_or_refused_with_a_message(name: str, value: Any) -> None:
    message = "read"
    try:
        SETTINGS[name].parse(value)
    except ValueError as error:
        message = str(error)
    assert message


def test_a_start_is_immutable_and_begins_a_new_session_by_default() -> None:
    start = make_start()
    assert (start.resume, start.pick, start.prompt, start.trusted, start.notices) == (
        None,
        False,
        "",
        False,
        (),
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        start.prompt = "x"  # type: ignore[misc]
