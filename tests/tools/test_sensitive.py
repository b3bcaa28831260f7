"""Test which names of files every mode asks about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.tools.guard import Guard, Reading, Writing
from swecli.tools.searching import list_tree
from swecli.tools.sensitive import is_sensitive, sensitive_patterns


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "sub/.git/hooks/pre-commit",
        ".git",
        ".GIT/config",
        ".g\u200bit/config",
        ".swecli/config.toml",
        ".vscode/settings.json",
        ".idea/x.xml",
        ".bashrc",
        "home/.zshrc",
        ".config/fish/config.fish",
        "x.code-workspace",
        ".envrc",
        "AGENTS.md",
        "docs/agents.MD",
        "CLAUDE.md",
        "GEMINI.md",
        ".claude/settings.json",
        ".codex/x",
        ".cursorrules",
        ".cursor/rules/x.mdc",
        ".windsurfrules",
        ".clinerules/a.md",
        ".aider.conf.yml",
        ".continue/config.yaml",
        ".agents/checks/a.md",
        ".github/copilot-instructions.md",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        ".gitattributes",
        "sub/.gitattributes",
        ".gitmodules",
        ".gitconfig",
        ".mcp.json",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        "sitecustomize.py",
        "src/usercustomize.py",
        "x.pth",
        ".npmrc",
        ".yarnrc.yml",
        ".env",
        ".env.local",
        ".tool-versions",
        ".profile",
        ".swecliignore",
        ".aiignore",
        ".venv/bin/python",
        "web/node_modules/.bin/tsc",
        ".github/dependabot.yml",
    ],
)
def test_protected_paths_are_recognised_before_they_exist(root: Path, path: str) -> None:
    assert Guard(root).judge(path).write is Writing.ASK


@pytest.mark.parametrize(
    "path",
    [
        "src/git/config",
        ".github/CODEOWNERS",
        ".gitignore",
        "gitconfig",
        "profile.py",
        ".env.example",
        "conftest.py",
    ],
)
def test_ordinary_paths_are_not_protected(root: Path, path: str) -> None:
    assert Guard(root).judge(path).write is Writing.FREE


SECRETS = [
    ".env",
    ".ENV",
    "app/.env.local",
    "prod.env",
    "key.pem",
    "server.key",
    ".ssh/id_ed25519",
    ".ssh/config",
    "id_rsa",
    ".aws/credentials",
    ".netrc",
    ".npmrc",
    "credentials.json",
    "service-account-1.json",
    "service_account.json",
    ".my.cnf",
    "terraform.tfstate",
    "my-credentials.json",
    "secrets.yml",
    ".env-old",
    "sub/.docker/a/b",
]


@pytest.mark.parametrize("path", SECRETS)
def test_files_that_may_contain_secrets_are_recognised(root: Path, path: str) -> None:
    assert is_sensitive(path)
    assert Guard(root).judge(path).read is Reading.ASK
    assert Guard(root).judge(path).write is Writing.ASK


@pytest.mark.parametrize(
    "path", [".env.example", "env.py", "src/keys.py", "id_rsa.pub", "environment", "monkey.py", "."]
)
def test_ordinary_files_are_not_taken_for_secrets(path: str) -> None:
    assert not is_sensitive(path)


def test_ripgrep_lists_by_the_patterns_whatever_may_contain_secrets(root: Path) -> None:
    names = {f"node_modules/p/{path}" for path in SECRETS}
    for name in (*names, "node_modules/p/index.js", "README.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    assert list_tree(root, os.environ, ignore_files=(), only=sensitive_patterns()) == names
