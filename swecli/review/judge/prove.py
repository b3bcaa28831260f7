"""Prove claims about a change: a model writes a script for each, which is run in the sandbox on both sides."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from swecli.models.errors import SwecliError, ToolError
from swecli.models.finding import Finding, Side, Verdict
from swecli.models.message import ApiMessage, ToolSpec
from swecli.models.proof import Outcome, Proof
from swecli.review.judge.evidence import describe_claim
from swecli.review.judge.grounding import move
from swecli.review.judge.sources import Snapshot, Sources
from swecli.review.judge.verify import Verification, Verifier
from swecli.tools.environment import child_environment
from swecli.tools.guard import Guard
from swecli.tools.run_inside import FurtherAccess, run_inside
from swecli.tools.sandbox import Sandbox
from swecli.values import dataclass

_RUNS = 3  # of a script on each side; as many are luck with a coin in one of four
_MORE_RUNS = 5  # where the outcome decides
_SECONDS = 60.0  # for one run
_PROMPT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
_SPEC = ToolSpec(**json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8")))
_INTERPRETERS = {"python": ("python3", "-B"), "bash": ("bash",), "node": ("node",)}
_NAMES = {"python": "prove.py", "bash": "prove.sh", "node": "prove.mjs"}
_ENVIRONMENTS = (".venv", "venv", "node_modules")  # of a project, with what it depends on
# runs a Python script, and says whether a module of the project came from another place than the copy
_WRAPPER = Path(__file__).with_name("prove_run.py")


@dataclass(frozen=True, slots=True)
class Prover:
    """Has scripts written by a verifier's model, and runs them in the project's `sandbox`."""

    sandbox: Sandbox
    project: Path
    """The project's own folder, which may have an environment that git does not know."""
    environ: Mapping[str, str]

    async def prove(
        self, verifier: Verifier, claims: Sequence[Finding], result: Verification
    ) -> AsyncGenerator[Finding, None]:
        """Yield each claim for which there is a script, with what it said, and the verdict that follows. `result` gets
        what it took, and a line for each problem."""
        with _Copies(verifier.sources) as copies:
            for claim in claims:
                try:
                    script = claim.proof or await self._write(verifier, claim, result)
                    if script is None:
                        continue
                    proof = await self._run(script, copies)
                except SwecliError as error:
                    result.problems.append(f"{claim.id} could not be proved: {error.message}")
                else:
                    yield _apply(claim, proof, verifier.sources)

    async def _write(
        self, verifier: Verifier, claim: Finding, result: Verification
    ) -> Proof | None:
        """Return a script that was not run yet; None if the model cannot write one. Raises SwecliError."""
        evidence = describe_claim(claim, verifier.sources, is_change=True)
        messages: list[ApiMessage] = [
            {"role": "system", "content": _PROMPT},
            {"role": "user", "content": f"{verifier.change}\n\n{evidence}"},
        ]
        label = f"proof of {claim.id}"
        dialogue = await verifier.examiner.ask(
            label, messages, verifier.sources, _SPEC, result.spend, verifier.cost_left(result)
        )
        script = dialogue.answer.get("script", "")
        if not script.strip():
            reason = dialogue.answer.get("why_not", "") or "the model wrote no script"
            result.problems.append(f"{claim.id} was not proved: {reason}")
            return None
        return Proof(dialogue.answer["language"], script, Outcome.CANNOT_RUN, Outcome.CANNOT_RUN)

    async def _run(self, proof: Proof, copies: _Copies) -> Proof:
        """Return a proof with what its script says on both sides. Raises ToolError."""
        head = await self._run_on(proof, copies.folder("head"), _RUNS)
        base = await self._run_on(proof, copies.folder("base"), _RUNS)
        if head is Outcome.BROKEN and base is Outcome.HOLDS:  # only now it decides
            more = _MORE_RUNS - _RUNS
            head = await self._run_on(proof, copies.folder("head"), more, head)
            base = await self._run_on(proof, copies.folder("base"), more, base)
        return replace(proof, base=base, head=head)

    async def _run_on(
        self, proof: Proof, folder: Path, runs: int, before: Outcome | None = None
    ) -> Outcome:
        """Return what all runs of a script on a copy say, those `before` too. One that cannot run is not repeated."""
        outcomes = set() if before is None else {before}
        for _ in range(runs):
            outcomes.add(await self._run_once(proof, folder))
            if outcomes == {Outcome.CANNOT_RUN}:
                return Outcome.CANNOT_RUN
            if len(outcomes) > 1:
                return Outcome.VARIES
        return outcomes.pop()

    async def _run_once(self, proof: Proof, folder: Path) -> Outcome:
        """Run a script on a copy. Raises ToolError if there is no sandbox."""
        marker = secrets.token_hex(8)
        name = _NAMES[proof.language]
        scripts = folder / f".prove-{marker}"
        scripts.mkdir()
        try:
            (scripts / name).write_text(proof.script, encoding="utf-8")
            argv = [*_INTERPRETERS[proof.language], f"{scripts.name}/{name}"]
            if proof.language == "python":
                shutil.copy(_WRAPPER, scripts / _WRAPPER.name)
                argv.insert(-1, f"{scripts.name}/{_WRAPPER.name}")
            return await self._start(argv, folder, marker)
        finally:
            shutil.rmtree(scripts, ignore_errors=True)

    async def _start(self, argv: Sequence[str], folder: Path, marker: str) -> Outcome:
        output = _MarkedOutput(marker)
        sandbox = self.sandbox.for_folder(folder)
        paths = (self.project / name for name in _ENVIRONMENTS)
        folders = [str(path) for path in paths if path.is_dir()]
        env = _environment(self.environ, folder, self.project, marker)
        try:
            await run_inside(
                sandbox,
                Guard(folder),
                "workspace",
                argv,
                env=env,
                timeout=_SECONDS,
                on_output=output.hear,
                access=FurtherAccess(readable=folders),
            )
        except OSError as error:
            raise ToolError(f"The script could not be started: {error}.") from error
        finally:
            sandbox.close()
        return output.outcome


async def find_intended(
    verifier: Verifier, proven: Sequence[Finding], result: Verification
) -> list[Finding]:
    """Return those of the claims that only a script has `proven`, and of which the verifier says that they are what the
    change is for: a difference is no bug. `result` gets what it took."""
    answers = await verifier.verify(proven)
    result.add(answers)
    intended: list[Finding] = []
    for claim in proven:
        judgement = answers.judgements.get(claim.id)
        if judgement is not None and judgement.verdict == "intended":
            judged_claim = replace(claim, verdict="intended", judgement=judgement)
            intended.append(move(judged_claim, "refuted", judgement.why))
    return intended


class _MarkedOutput:
    """What a script says: a marker, which only it was told, and a word behind it, in whatever else is printed."""

    def __init__(self, marker: str) -> None:
        self._pattern = re.compile(rf"{marker} (holds|broken|elsewhere)".encode())
        self._longest = len(marker) + len(" elsewhere")
        self._tail = b""
        self._words: set[bytes] = set()

    def hear(self, piece: bytes) -> None:
        """Take the next piece of the output."""
        text = self._tail + piece
        self._words.update(self._pattern.findall(text))
        self._tail = text[-self._longest :]

    @property
    def outcome(self) -> Outcome:
        """What was said; a script that says both, or nothing, or of other code, says nothing."""
        if self._words == {b"holds"}:
            return Outcome.HOLDS
        return Outcome.BROKEN if self._words == {b"broken"} else Outcome.CANNOT_RUN


class _Copies:
    """Copies of both sides of a change, made when they are needed, which scripts may write to."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._copies: dict[Side, Snapshot] = {}

    def __enter__(self) -> _Copies:
        return self

    def __exit__(self, *error: object) -> None:
        for copy in self._copies.values():
            copy.close()

    def folder(self, side: Side) -> Path:
        """Return the folder of a side. Raises BadInput."""
        if side not in self._copies:
            self._copies[side] = Snapshot(self._sources.side(side).copy_files)
        return self._copies[side].root


def _apply(claim: Finding, proof: Proof, sources: Sources) -> Finding:
    """Return a claim with its proof, and the verdict that follows. A script that has shown the problem before, and
    shows it no longer, shows that it is fixed."""
    if claim.proof is not None and claim.stands and proof.head is Outcome.HOLDS:
        return move(replace(claim, proof=proof), "fixed", "its script shows it no longer")
    verdict = _verdict_of(claim, proof, is_added=_adds_lines_of(claim, sources))
    return replace(claim, proof=proof, verdict=verdict)


def _adds_lines_of(claim: Finding, sources: Sources) -> bool:
    """Return whether the change added the lines of a claim."""
    before = sources.before.get(claim.path)
    last = claim.end_line or claim.line
    return before is not None and any(line in before.added for line in range(claim.line, last + 1))


def _verdict_of(claim: Finding, proof: Proof, *, is_added: bool) -> Verdict:
    if proof.head is Outcome.BROKEN:
        if proof.base is Outcome.BROKEN:
            return "pre_existing"
        if proof.base is Outcome.HOLDS or (proof.base is Outcome.CANNOT_RUN and is_added):
            return "introduced"
    # what was claimed does not show: a verdict by reading alone is not kept
    return "cannot_tell" if proof.head is Outcome.HOLDS else claim.verdict


def _environment(
    environ: Mapping[str, str], folder: Path, project: Path, marker: str
) -> dict[str, str]:
    """Return the variables of a script: the same interpreter on both sides, modules of the copy before all others."""
    env = child_environment(environ)
    programs = [str(project / name / "bin") for name in _ENVIRONMENTS[:2]]
    programs.append(str(project / "node_modules" / ".bin"))
    env["PATH"] = ":".join(
        [*filter(lambda path: Path(path).is_dir(), programs), env.get("PATH", "")]
    )
    env["PYTHONPATH"] = f"{folder}:{folder / 'src'}"
    env["NODE_PATH"] = str(project / "node_modules")
    return env | {
        "SWECLI_MARKER": marker,
        "SWECLI_COPY": str(folder),
        "SWECLI_PROJECT": str(project),
    }
