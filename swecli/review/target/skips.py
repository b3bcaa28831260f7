"""What a review leaves out, by which rule: lock files, generated and vendored code, and what nobody wrote by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch

from swecli.models.coverage import Skip

ATTRIBUTES = ("linguist-generated", "linguist-vendored", "diff")
LONGEST_LINE = 5_000  # letters; no hand writes such a line
HEAD = 2_048  # letters at the beginning in which generated files say so
_LOCKS = frozenset(
    [
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lockb",
        "bun.lock",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
        "pdm.lock",
        "Cargo.lock",
        "go.sum",
        "Gemfile.lock",
        "composer.lock",
        "mix.lock",
        "flake.lock",
        "pubspec.lock",
        "Podfile.lock",
        "Package.resolved",
        "packages.lock.json",
        "gradle.lockfile",
        "deno.lock",
    ]
)
_GENERATED = re.compile(
    r"(?:.*/)?(?:[^/]*\.min\.[^/]+|[^/]*\.map|[^/]*_pb2(?:_grpc)?\.pyi?|[^/]*\.pb\.go|[^/]*\.snap|[^/]*\.g\.dart|"
    r"__snapshots__/.*)"
)
_VENDORED = re.compile(r"(?:.*/)?(?:vendor|third_party|node_modules|dist)/.*")
_SAYS_SO = re.compile(r"generated\b.{0,200}?do not edit|do not edit.{0,200}?\bgenerated", re.IGNORECASE | re.DOTALL)
_BINARY = re.compile(
    r".*\.(?:png|jpe?g|gif|ico|webp|pdf|zip|gz|xz|bz2|tar|whl|jar|class|so|dll|exe|bin|db|sqlite|woff2?|ttf|otf|mp[34]|"
    r"pyc|o|a)",
    re.IGNORECASE | re.DOTALL,
)


def rule_by_name(path: str, attributes: Mapping[str, str], include: Sequence[str]) -> str:
    """The rule by which a file is skipped for its name or attributes, "" where it is not.

    Attributes are those of the base commit and win both ways; `include` patterns bring files back.
    """
    if any(fnmatch(path, pattern) or path.startswith(f"{pattern.rstrip('/')}/") for pattern in include):
        return ""
    if attributes.get("linguist-generated") in ("set", "true"):
        return "generated"
    if attributes.get("linguist-vendored") in ("set", "true"):
        return "vendored"
    if attributes.get("diff") == "unset":
        return "marked -diff"
    if path.rsplit("/", 1)[-1] in _LOCKS:
        return "lock"
    if _BINARY.fullmatch(path):
        return "binary"
    if _GENERATED.fullmatch(path) and attributes.get("linguist-generated") not in ("unset", "false"):
        return "generated"
    if _VENDORED.fullmatch(path) and attributes.get("linguist-vendored") not in ("unset", "false"):
        return "vendored"
    return ""


def rule_by_text(lines: Sequence[str], attributes: Mapping[str, str]) -> str:
    """The rule by which a file is skipped for what it holds, "" where it is not."""
    if any(len(line) > LONGEST_LINE for line in lines):
        return f"a line over {LONGEST_LINE:,} characters"
    head = "\n".join(lines[:80])[:HEAD]
    kept = attributes.get("linguist-generated") in ("unset", "false")
    return "generated" if not kept and _SAYS_SO.search(head) else ""


def in_words(skips: Iterable[Skip]) -> str:
    """`12 skipped: 3 lock, 4 generated, 5 vendored`; "" without any."""
    counts = Counter(skip.rule for skip in skips)
    listed = ", ".join(f"{count} {rule}" for rule, count in counts.most_common())
    return f"{counts.total()} skipped: {listed}" if counts else ""
