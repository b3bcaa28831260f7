"""Build the environment of every program that is started in the workspace: commands, in the background too, and those
that swecli itself needs, such as git."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

# Variables from which the providers' own tools and litellm read keys.
_PROVIDER_KEY = re.compile(
    r"(?:(?:AZURE_)?OPENAI|ANTHROPIC|GEMINI|GOOGLE(?:_AI|_GENAI)?|AZURE(?:_AI|_AD)?|MISTRAL|CODESTRAL|COHERE|CO|GROQ|XAI|"
    r"DEEPSEEK|KIMI|ZHIPU(?:AI)?|GROK|QWEN|"
    r"OPENROUTER|TOGETHER(?:_?AI)?|FIREWORKS(?:_AI)?|PERPLEXITY(?:AI)?|REPLICATE|HUGGINGFACE|HF|CEREBRAS|"
    r"SAMBANOVA|NVIDIA_NIM|DEEPINFRA|ANYSCALE|AI21|VOYAGE|WATSONX|DATABRICKS|MOONSHOT|ZAI|DASHSCOPE|VOLCENGINE|NOVITA|"
    r"HYPERBOLIC|LAMBDA|GITHUB_MODELS|CLARIFAI|FRIENDLI(?:AI)?|NSCALE|NEBIUS|MINIMAX|LITELLM|SWECLI|OLLAMA|LM_STUDIO|"
    r"(?:HOSTED_)?VLLM|LLAMAFILE|LLAMACPP|XINFERENCE|FEATHERLESS_AI|GALADRIEL|(?:META_)?LLAMA)"
    r"_(?:API_KEY|API_TOKEN|AUTH_TOKEN|ACCESS_TOKEN|KEY|TOKEN)|AWS_BEARER_TOKEN_BEDROCK|ANTHROPIC_CUSTOM_HEADERS",
    re.IGNORECASE,
)

# An editor would wait for keys that nobody can press. It fails, so that git does not go on with an unedited text, as a
# rebase would; quoted, since programs start an editor by a shell or split its words themselves.
_NO_EDITOR = (
    "sh -c 'echo No editor runs here: give the text as an option or in a file. At the prompt, !!COMMAND has the "
    "editor. >&2; exit 1'"
)
_NAMES_EDITOR = re.compile(r"\w*EDITOR|VISUAL")  # SVN_EDITOR, HGEDITOR, SUDO_EDITOR
_NAMES_PAGER = re.compile(r"\w*PAGER")  # GH_PAGER, AWS_PAGER, BAT_PAGER

# What programs in an editor's terminal use to reach that editor: the variables of Neovim and of VS Code.
_REACHES_EDITOR = re.compile(r"NVIM|NVIM_LISTEN_ADDRESS|VSCODE_\w*IPC\w*")

# Variables that point git to a repository, its index or its objects, as they are set in hooks and aliases: what `git
# rev-parse --local-env-vars` prints, and those of pushes and of namespaces (git(1), git-receive-pack(1)). Without the
# settings of GIT_CONFIG_COUNT, which users give to git for all repositories.
_OF_REPOSITORY = frozenset(
    {
        "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX",
        "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE",
        "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE",
        "GIT_INTERNAL_SUPER_PREFIX",
    }
)  # fmt: skip

_QUIET = (
    dict.fromkeys(("GIT_PAGER", "PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat")
    | dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), _NO_EDITOR)
    | {"TERM": "dumb", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
)

# Programs that fail without a cache of their own, and the variables by which they are told where it is (mypy and ruff
# document them). pytest does without one, and warns; its cache stays where it is, since `--lf` reads it.
_CACHES_IN_WORKSPACE = {"MYPY_CACHE_DIR": "mypy", "RUFF_CACHE_DIR": "ruff"}
_OPTIONS_OF_PYTEST = "PYTEST_ADDOPTS"
_NO_WARNING_OF_CACHE = "-W ignore::pytest.PytestCacheWarning"


def own_environment(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the variables that swecli was started with; None stands for this process's."""
    # reads the environment: the default, as for any child process
    return os.environ if environ is None else environ


def child_environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment for a child process: `environ` (None: this process's) without model keys, pagers and
    editors. git finds the repository by the folder it runs in, also if swecli was started in a hook."""
    environment = foreground_environment(environ)
    editors = {name: _NO_EDITOR for name in environment if _NAMES_EDITOR.fullmatch(name)}
    pagers = {name: "cat" for name in environment if _NAMES_PAGER.fullmatch(name)}
    return environment | editors | pagers | _QUIET


def foreground_environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment for a program that has the user's terminal: as for other child processes, but with the
    user's pagers and editors."""
    environment = own_environment(environ)
    return {name: value for name, value in environment.items() if not _is_withheld(name)}


def reading_environment(environ: Mapping[str, str], temporary: str) -> dict[str, str]:
    """Return the environment for a program that may write nowhere but in the folder `temporary`: checks that keep a
    cache in the workspace keep it there."""
    caches = {name: f"{temporary}/cache-{tool}" for name, tool in _CACHES_IN_WORKSPACE.items()}
    options = f"{environ.get(_OPTIONS_OF_PYTEST, '')} {_NO_WARNING_OF_CACHE}".lstrip()
    return {**environ, **caches, _OPTIONS_OF_PYTEST: options}


def _is_withheld(name: str) -> bool:
    if name in _OF_REPOSITORY or _REACHES_EDITOR.fullmatch(name):
        return True
    return _PROVIDER_KEY.fullmatch(name) is not None
