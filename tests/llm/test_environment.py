"""Test that the environment keeps litellm and tiktoken offline before either is imported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from swecli.llm.price_table import prepare_environment, tokenizer_folder


def test_the_environment_makes_litellm_use_local_tables_and_production_mode() -> None:
    environ = {"LITELLM_LOCAL_MODEL_COST_MAP": "False"}
    prepare_environment(environ)
    assert {name for name, value in environ.items() if value == "True"} >= {
        "LITELLM_LOCAL_MODEL_COST_MAP",
        "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
    }
    assert environ["LITELLM_MODE"] == "PRODUCTION"


def test_every_litellm_variable_for_local_tables_is_set() -> None:
    tables = tokenizer_folder()
    assert tables is not None
    folder = tables.parents[1]
    environ: dict[str, str] = {}
    prepare_environment(environ)
    known = {
        word
        for name in (
            "__init__.py",
            "anthropic_beta_headers_manager.py",
            "litellm_core_utils/get_model_cost_map.py",
        )
        for word in re.findall(
            r"LITELLM_LOCAL_[A-Z_]+", (folder / name).read_text(encoding="utf-8")
        )
    }
    assert known
    assert known <= set(environ)


def test_a_tiktoken_cache_dir_of_the_user_is_kept() -> None:
    environ = {"TIKTOKEN_CACHE_DIR": "/mine"}
    prepare_environment(environ)
    assert environ["TIKTOKEN_CACHE_DIR"] == "/mine"


def test_tiktoken_cache_dir_is_the_folder_with_the_token_tables() -> None:
    tables = tokenizer_folder()
    environ: dict[str, str] = {}
    prepare_environment(environ)
    assert tables is not None
    assert environ["TIKTOKEN_CACHE_DIR"] == str(tables)
    # tiktoken names its cached tables by a hash of their URL.
    assert any(len(path.name) == 40 for path in tables.iterdir())


def test_preparing_the_environment_imports_no_heavy_modules() -> None:
    program = (
        "import sys; from swecli.llm.price_table import prepare_environment; prepare_environment({}); "
        "print([m for m in ('litellm', 'openai', 'httpx', 'pydantic', 'tiktoken') if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"
