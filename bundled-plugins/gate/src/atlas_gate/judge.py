"""Judges a command: reads it, holds every part against the rules, and says the strictest verdict.

This is a guard, not a sandbox: it reads what a line says, and a program may still do what no line says.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from atlas_gate.dangerous import DANGEROUS
from atlas_gate.deadline import Deadline
from atlas_gate.globs import Globs, escaped, plain_forms
from atlas_gate.guest_rules import guest_finding
from atlas_gate.hardline import HARDLINE
from atlas_gate.judgement import Judgement
from atlas_gate.options import asks_for_help
from atlas_gate.outward import OUTWARD
from atlas_gate.parts import Part, forge_proof, is_constant
from atlas_gate.path_forms import plain_path
from atlas_gate.paths import Ground
from atlas_gate.programs import PROGRAMS, RUNS_OTHERS
from atlas_gate.reader import Reader
from atlas_gate.rules import Finding, Verdict, finding
from atlas_gate.syntax import UnreadableError
from atlas_gate.world import World

# Characters. Programs take 2 MiB at most in all their arguments on Linux (`getconf ARG_MAX`).
COMMAND_LIMIT = 2_097_152
_READER_BUGS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, re.error, RecursionError)
# As a word of some program, `reboot` is a name as often as a command; `rm -rf /` is not.
# Paths of a line that are followed for a yes to it.
_MOST_LINKS = 256
_ONLY_NAMES = frozenset(("never.power", "never.kill-all"))
# Most rules look at every word once; this many take about as long as a step.
_WORDS_A_STEP = 16
_NOTHING = Finding(Verdict.RUN, "run", "No rule applies, so it runs.")


def judge(command: str, world: World, deadline: Deadline | None = None) -> Judgement:
    """Say what happens to a command in a world. Never raises, and runs nothing.

    A line that cannot be read to its end before the deadline is answered as one that cannot be read.
    """
    deadline = deadline or Deadline()
    command = forge_proof(command)
    with _without_collections():
        reader = read(command[:COMMAND_LIMIT], world, deadline)
        if len(command) > COMMAND_LIMIT:
            reader.faults.insert(0, "it is longer than any command that is read")
        found = _strictest(command, reader.parts, reader.faults, world, deadline)
    return Judgement(
        found.verdict,
        found.rule,
        found.why,
        tuple(reader.parts),
        tuple(reader.scripts.values()),
        _always(command, reader.parts),
        tuple(reader.inputs.values()),
        _links(reader.parts, world) if found.verdict in (Verdict.REVIEW, Verdict.ASK) else (),
    )


def _links(parts: list[Part], world: World) -> tuple[tuple[str, str], ...]:
    """The paths a line names that lead somewhere else at the moment, as a yes to it takes them to."""
    found: dict[str, str] = {}
    for part in parts:
        for word in (*part.words[1:], *(redirect.target for redirect in part.redirects)):
            path = plain_path(word.text.split("*")[0], part.folder, part.links)
            if len(found) < _MOST_LINKS and is_constant(path) and path not in found:
                found[path] = world.real_path(path)
    return tuple((path, real) for path, real in found.items() if real != path)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Ten thousand parts are kept until the end: looking for garbage among them takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read(command: str, world: World, deadline: Deadline) -> Reader:
    """A reader that has read a line: its parts, the scripts it runs, and what could not be read."""
    reader = Reader(world, PROGRAMS, deadline)
    try:
        if world.shell == "powershell":
            from atlas_gate.powershell import PowerShellReader

            PowerShellReader(reader).read(command)
        else:
            reader.read(command)
    except _READER_BUGS:
        # A fault of the reader itself must not let the line through: it counts as not read.
        reader.faults.append("the reader failed on it")
    return reader


def _strictest(command: str, parts: list[Part], faults: list[str], world: World, deadline: Deadline) -> Finding:
    ground = Ground(world, deadline)
    deadline.extend()
    deny, ask, skip = (compiled_globs(globs) for globs in (world.trust.deny, world.trust.ask, world.trust.ask_skip))
    whole = " ".join(command.split())
    best = _NOTHING

    def keep(candidate: Finding | None) -> None:
        nonlocal best
        if candidate is not None and candidate.verdict > best.verdict:
            best = candidate

    if faults:
        keep(_unreadable(faults[0], world))
    for glob, verdict, rule in (
        (deny.match([whole]), Verdict.BLOCK, "trust.deny"),
        (ask.match([whole]), Verdict.ASK, "trust.ask"),
    ):
        if glob is not None:
            keep(Finding(verdict, rule, _glob_sentence(rule, glob)))
    seen: set[tuple[object, ...]] = set()
    for part in parts:
        # Loops and long scripts repeat themselves; the same part meets the same rules.
        key = (part.words, part.redirects, part.folder, part.unread, part.suspicion, part.assignments, part.input)
        if key in seen:
            continue
        seen.add(key)
        try:
            deadline.step(1 + len(part.words) // _WORDS_A_STEP)
            keep(_judge_part(part, ground, deny, ask, skip))
            if world.guests:
                keep(guest_finding(part, ground))
        except UnreadableError as error:
            keep(_unreadable(str(error), world))
            break
        except _READER_BUGS:
            # The same as for the reader: a rule that fails lets nothing through.
            keep(_unreadable("a rule failed on it", world))
        if best.rule.startswith("never."):
            break
    if best.verdict is Verdict.REVIEW and world.mode == "auto":
        return Finding(Verdict.RUN, best.rule, f"{best.why} Auto mode runs it unreviewed.")
    return best


def _unreadable(fault: str, world: World) -> Finding:
    verdict = Verdict.ASK if world.mode == "auto" or world.guests else Verdict.REVIEW
    return Finding(verdict, "unreadable", f"A part of it could not be read: {fault}.")


def _judge_part(part: Part, ground: Ground, deny: Globs, ask: Globs, skip: Globs) -> Finding | None:
    rule = HARDLINE.first(part, ground)
    if rule is not None and rule.id in _ONLY_NAMES and _is_own_program(part, ground):
        rule = None
    if rule is not None:
        if part.suspicion in ("", "fork-bomb"):
            return finding(Verdict.BLOCK, rule.id, rule.sentence, part)
        if rule.id in _ONLY_NAMES:
            return None
        return finding(Verdict.REVIEW, "danger.wrapped", "It may run a command that never runs.", part)
    if part.suspicion:
        return None
    forms = plain_forms(part) if deny or ask or skip else []
    glob = deny.match(forms)
    if glob is not None:
        return finding(Verdict.BLOCK, "trust.deny", _glob_sentence("trust.deny", glob), part)
    glob = ask.match(forms)
    if glob is not None:
        return finding(Verdict.ASK, "trust.ask", _glob_sentence("trust.ask", glob), part)
    for rules in (OUTWARD, DANGEROUS):
        rule = rules.first(part, ground)
        if rule is None or (rules is OUTWARD and skip and skip.match(forms[:1])):
            continue
        if (
            rules is DANGEROUS
            and part.texts[-1:] == ["--help"]
            and not part.redirects
            and asks_for_help(part.arguments)
        ):
            continue
        return finding(rules.verdict, rule.id, rule.sentence, part)
    return None


def _is_own_program(part: Part, ground: Ground) -> bool:
    """Whether the program is a file of the user's own, such as `./init`, and no link out of the home."""
    text = part.words[0].text if part.words else ""
    if not text.startswith("./") or not is_constant(text):
        return False
    path = ground.path(part, text)
    return all(ground.within_home(one) is not None for one in (path, ground.world.real_path(path)))


def _glob_sentence(rule: str, glob: str) -> str:
    if rule == "trust.deny":
        return f"Your deny list refuses {glob!r}."
    return f"Your ask list wants to be asked about {glob!r}."


@lru_cache(maxsize=64)
def compiled_globs(globs: tuple[str, ...]) -> Globs:
    """The globs of one list of settings, compiled once."""
    return Globs(globs)


def _always(command: str, parts: Iterable[Part]) -> str | None:
    """The glob for this very line, unless what it runs can change while the line stays the same."""
    line = command.strip()
    if not line or "\n" in line:
        return None
    for part in parts:
        runs_script = bool(part.words) and "/" in part.words[0].text and not part.words[0].text.startswith("/")
        if part.name in RUNS_OTHERS or part.unread or runs_script:
            return None
    return escaped(line)
