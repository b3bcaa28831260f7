"""Test resolving a model name, and the one-line error for an unknown one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.config.settings import Settings
from swecli.llm.registry import make_model
from swecli.models.errors import AuthFailed, ModelNotFound
from tests.support.scripted import ScriptedModel

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def test_a_script_file_can_be_used_as_a_model(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(["hi"]), encoding="utf-8")
    model = make_model(f"scripted/{path}", Settings(), {})
    assert isinstance(model, ScriptedModel)
    assert model.name == f"scripted/{path}"


@pytest.mark.parametrize(
    ("name", "full", "window", "output", "encoding"),
    [
        ("openai/gpt-4.1", "openai/gpt-4.1", 1_047_576, 32_768, "o200k_base"),
        ("gpt-4.1", "openai/gpt-4.1", 1_047_576, 32_768, "o200k_base"),
        ("openai/gpt-4", "openai/gpt-4", 8_192, 4_096, "cl100k_base"),
        ("claude-haiku-4-5", "anthropic/claude-haiku-4-5", 200_000, 64_000, "o200k_base"),
        ("gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro", 1_048_576, 65_536, "o200k_base"),
        ("openai/house-model", "openai/house-model", None, None, "o200k_base"),
        ("ollama/qwen3:8b", "ollama/qwen3:8b", None, None, "o200k_base"),
    ],
)
def test_limits_and_encoding_come_from_the_local_table(
    name: str, full: str, window: int | None, output: int | None, encoding: str
) -> None:
    model = make_model(name, Settings(), KEYS)
    known = model.profile
    assert (model.name, known.window, known.max_output, known.encoding) == (
        full,
        window,
        output,
        encoding,
    )
    assert not known.offline


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("opnai/gpt-4.1", "Did you mean openai"),
        ("antropic/claude", "Did you mean anthropic"),
        ("gpt-4.l", "Did you mean openai/gpt-4"),
        ("sonnet", "swecli models sonnet"),
        (" ", "provider/name"),
        ("openrouter", "openrouter/NAME"),
        ("mistral", "mistral/mistral-large"),
        ("qqqqqq/x", "provider/name"),
        ("", "provider/name"),
        ("openai/", "provider/name"),
    ],
)
def test_an_unknown_provider_or_name_is_refused_with_a_suggestion(name: str, says: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        make_model(name, Settings(), KEYS)
    assert says in str(caught.value)
    assert caught.value.exit_code == 42


def test_a_missing_key_is_an_error_when_the_model_is_made() -> None:
    with pytest.raises(AuthFailed, match="OPENAI_API_KEY"):
        make_model("openai/gpt-4.1", Settings(), {})


def test_making_a_model_imports_no_heavy_modules() -> None:
    program = (
        "import sys\n"
        "from swecli.config.settings import Settings\n"
        "from swecli.llm.registry import make_model\n"
        "make_model('openai/gpt-4.1', Settings(), {'OPENAI_API_KEY': 'k'})\n"
        "heavy = ('litellm', 'openai', 'httpx', 'pydantic', 'tiktoken', 'swecli.tour')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"
