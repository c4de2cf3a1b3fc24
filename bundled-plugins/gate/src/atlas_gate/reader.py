"""Reads a line into the simple commands it comes to: the walker goes through its tree, this says what each does.

Nothing is run. Variables, folders, functions and the files a line writes are followed as far as they
are known; every branch is taken; what a program prints is known only for the few that a disguise is
made of (`echo`, `printf`, `base64 -d` and their kind, in the module `filters`).
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from atlas_gate.deadline import Deadline
from atlas_gate.expansion import split_fields
from atlas_gate.parser import parse
from atlas_gate.parts import (
    ANY,
    DECODED,
    FETCHED,
    OUTPUT,
    UNKNOWN,
    Assignment,
    Part,
    Word,
    forge_proof,
    is_constant,
    program_name,
    strongest_mark,
)
from atlas_gate.path_forms import followed, plain_path
from atlas_gate.patterns import matches
from atlas_gate.syntax import AssignmentNode, Node, Simple, Text, UnreadableError
from atlas_gate.unread import runs_unknown, unknown_outside_strings
from atlas_gate.walker import Walker
from atlas_gate.world import SCRIPT_LIMIT_BYTES, World

# How deep evals, functions and scripts may go into each other.
DEPTH_LIMIT: Final = 24
# How many links made in the line are followed.
LINK_LIMIT: Final = 256
# Folders and files that are looked at for scripts that `find` hands on, and scripts of those that are read.
FOLDER_LIMIT: Final = 2_000
SCRIPTS_LIMIT: Final = 200
_GIVERS: Final = frozenset(("xargs", "parallel"))
_TOO_MANY_LINKS: Final = "it makes more links than can be followed"


Handler: TypeAlias = "Callable[[Reader, Part], str]"


@dataclass(frozen=True, slots=True)
class Programs:
    """What looks through a program: by its name, for any other, and for assignments in front of it."""

    by_name: Mapping[str, Handler]
    other: Handler
    assignments: Callable[[Reader, Part], None]
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptRead:
    """A script the line runs, and the digest of the bytes that were judged."""

    path: str
    sha256: str


class Reader(Walker):
    """Reads one line into parts. It owns the state, the parts and the scripts it has read."""

    def __init__(self, world: World, programs: Programs, deadline: Deadline) -> None:
        super().__init__(world, deadline)
        self.programs = programs
        self.scripts: dict[str, ScriptRead] = {}
        self.inputs: dict[str, ScriptRead] = {}
        self.is_suspecting = False
        self._matched: dict[str, Word] = {}
        self._links: Mapping[str, str] | None = None
        self._depth = 0
        self._sources: dict[str, tuple[str, bytes]] = {}
        self._texts: list[tuple[str, tuple[str, ...], str | None]] = []
        self._calls: list[tuple[int, tuple[str, ...]]] = []

    # What the handlers of programs call.

    def run_text(
        self,
        text: str,
        origin: str,
        *,
        positional: tuple[str, ...] = (),
        name: str = "bash",
        stdin: str = "",
        same_shell: bool = False,
    ) -> str:
        """Read a text that a shell runs, and answer what it prints."""
        if not is_constant(text) and len(text.strip()) <= 1:
            return OUTPUT
        entered = (text, positional, self.state.folder)
        if entered in self._texts:
            return OUTPUT  # it runs itself just as it was run: nothing new would be read
        self._count(self._depth)
        self.note_script(text)
        with _Deeper(self, origin) as allowed:
            if not allowed:
                return OUTPUT
            before = self.state
            if not same_shell:
                self.state = before.copy()
                self.state.positional, self.state.script_name = positional, name
            elif positional:
                self.state.positional = positional
            parsed = parse(text, self.deadline)
            if parsed.fault is not None:
                self.faults.append(parsed.fault)
            self._texts.append(entered)
            try:
                return self._run(parsed.script, stdin)
            finally:
                self._texts.pop()
                if not same_shell:
                    self.state = before

    def run_words(
        self,
        words: tuple[Word, ...] | list[Word],
        origin: str,
        *,
        stdin: str = "",
        assignments: tuple[Assignment, ...] = (),
    ) -> str:
        """Read a command that another one runs, given as words."""
        if not words:
            return OUTPUT
        self.deadline.step(len(words))
        with _Deeper(self, origin) as allowed:
            if not allowed:
                return OUTPUT
            return self._dispatch(Part(tuple(words), assignments, input=stdin))

    def add(self, part: Part) -> Part:
        """Put a part on the list, with where it was found."""
        if part.words and part.words[0].is_pattern:
            program = self._matched_program(part.words[0])
            if program is not part.words[0]:
                part = replace(part, words=(program, *part.words[1:]))
        # Written out: `dataclasses.replace` takes a fifth of the time of a long script.
        placed = Part(
            part.words,
            part.assignments,
            part.redirects,
            self.origin,
            self.state.folder,
            part.unread,
            part.input,
            self._links,
            part.suspicion or ("wrapped" if self.is_suspecting else ""),
        )
        self.parts.append(placed)
        return placed

    def _matched_program(self, word: Word) -> Word:
        """The program a pattern such as `/bin/r?` may name, taking the one the rules know."""
        if word.text == "[":
            return word
        if word.text not in self._matched:
            name = program_name(word.text)
            known = next((one for one in self.programs.known if matches(one, name)), None)
            self._matched[word.text] = word if known is None else Word(known)
        return self._matched[word.text]

    def link(self, path: str, target: str) -> None:
        """Note a link the line makes. A part keeps the links there were when it ran."""
        if len(self.state.links) >= LINK_LIMIT and path not in self.state.links:
            if _TOO_MANY_LINKS not in self.faults:
                self.faults.append(_TOO_MANY_LINKS)
            return
        self.state.links[path] = target
        self._links = dict(self.state.links)

    def suspect(self, words: tuple[Word, ...], origin: str) -> None:
        """Read a command that a program the gate does not know may run; its parts are only suspected."""
        self.is_suspecting = True
        try:
            self.run_words(words, origin)
        finally:
            self.is_suspecting = False

    def unread(self, part: Part, text: str, *, quiet_output: bool = False, is_code: bool = False) -> None:
        """Note that a command runs a text that is not wholly known, with the reason in the part."""
        if is_constant(text):
            return
        mark = strongest_mark(text)
        if quiet_output and mark == OUTPUT:
            return
        reason = {FETCHED: "fetched", DECODED: "decoded"}.get(mark, "unknown")
        if reason == "unknown" and not (unknown_outside_strings(text) if is_code else runs_unknown(text)):
            return  # only arguments are unknown: what runs is known
        self.parts.append(replace(part, origin=self.origin, folder=self.state.folder, unread=reason, redirects=()))

    def read_file(self, path: str, *, is_script: bool = True) -> str | None:
        """A file's text: as the line has written it, else as the world holds it."""
        path = followed(path, self.state.links) if self.state.links else path
        if path in self.state.files:
            return self.state.files[path]
        if not is_constant(path):
            return None
        content = self.world.read_file(path)
        if content is None:
            return None
        text = forge_proof(content[:SCRIPT_LIMIT_BYTES].decode("utf-8", "replace"))
        self._sources[text.rstrip("\n")] = (path, content)
        if is_script:
            self.note_script(text)
        else:
            self.inputs.setdefault(path, ScriptRead(path, hashlib.sha256(content).hexdigest()))
        return text + UNKNOWN if len(content) > SCRIPT_LIMIT_BYTES else text

    def note_script(self, text: str) -> None:
        """Note that a text is run: if it came whole from a file, that file is a script of the line."""
        path, content = self._sources.get(text.rstrip("\n"), ("", b""))
        if path and path not in self.scripts:
            self.scripts[path] = ScriptRead(path, hashlib.sha256(content).hexdigest())

    def unread_script(self, part: Part, path: str) -> None:
        """Note a script whose name another program or a loop gives, and which cannot be read before."""
        given = bool(_GIVERS.intersection(self.origin)) or any(one.startswith(("find ", "fd ")) for one in self.origin)
        name = path.rpartition("/")[2]
        marked = ANY in name or "*" in name or not is_constant(name)
        if marked and (given or self.loops or OUTPUT in name or ANY in name):
            folder = path.rpartition("/")[0] or "/"
            if is_constant(path) and ANY not in folder and any(True for _ in self.world.list_folder(folder)):
                return  # no file has such a name: nothing runs
            self.unread(part, UNKNOWN)

    def _files_below(self, folder: str, pattern: str) -> list[str]:
        """The files of a name at any depth under a folder, with an unknown one where there are too many to look at."""
        found: list[str] = []
        waiting = deque([folder.rstrip("/")])
        for _ in range(FOLDER_LIMIT):
            if not waiting:
                return found
            where = waiting.popleft()
            for name in self.world.list_folder(where or "/"):
                self.deadline.step()
                waiting.append(f"{where}/{name}")
                if matches(name, pattern):
                    found.append(f"{where}/{name}")
            if len(found) > SCRIPTS_LIMIT:
                break
        return [*found[:SCRIPTS_LIMIT], f"{folder}/{OUTPUT}"] if waiting else found

    def operand_paths(self, word: Word) -> list[str]:
        """The files a word names: itself, or what its pattern matches."""
        path = self.state.path(word)
        folder, deeper, name = path.partition(f"/{ANY}{ANY}/")
        if deeper and is_constant(folder):
            pattern = name.replace(ANY, "*").replace(OUTPUT, "*")
            return self._files_below(folder, pattern) or [path]
        if ANY in path:
            path, word = path.replace(ANY, "*"), Word(path, True)
        if not word.is_pattern or not is_constant(path):
            return [path]
        folder, _, pattern = path.rpartition("/")
        names = set(self.world.list_folder(folder or "/"))
        names |= {known.rpartition("/")[2] for known in self.state.files if known.startswith(folder + "/")}
        return [f"{folder}/{name}" for name in sorted(names) if matches(name, pattern)] or [path]

    # The line as a whole.

    def read(self, text: str) -> None:
        """Read the whole line, then the bodies of functions it defines and never calls."""
        parsed = parse(text, self.deadline)
        if parsed.fault is not None:
            self.faults.append(parsed.fault)
        try:
            self._run(parsed.script, "")
            for name, body in list(self.state.functions.items()):
                if name not in self.state.called:
                    self._run(body, "")
        except UnreadableError as error:
            self.faults.append(str(error))
        except RecursionError:
            self.faults.append("it is nested too deeply")

    # Simple commands.

    def _simple(self, node: Simple, stdin: str) -> str:
        expander = self._expander()
        words: list[Word] = []
        declared: list[Assignment] = []
        for item in node.words:
            self.deadline.step()
            if isinstance(item, AssignmentNode):
                assignment = self._assign(item, expander)
                declared.append(assignment)
                words.append(Word(f"{assignment.name}={assignment.value}"))
            else:
                words.extend(expander.fields(item))
        if not words and node.assignments and not node.redirections:
            found = tuple(self._assign(item, expander) for item in node.assignments)
            self.add(Part((), assignments=found))
            return ""
        assignments = tuple(self._assignment(item, expander) for item in node.assignments)
        redirects, fed = self._redirects(node.redirections)
        if fed is None:
            fed = stdin or self.input
        if not words:
            for item in node.assignments:
                self._assign(item, expander)
            self.add(Part((), assignments, redirects))
            return self._written(redirects, fed if self.is_captured else "")
        if words and words[0].text in self.state.aliases and isinstance(node.words[0], Text):
            output = self._alias(words, fed)
        else:
            output = self._dispatch(Part(tuple(words), assignments, redirects, input=fed))
        return self._written(redirects, output)

    def _alias(self, words: list[Word], stdin: str) -> str:
        name = words[0].text
        text = self.state.aliases.pop(name)
        rest = " ".join(word.shown() for word in words[1:])
        try:
            return self.run_text(f"{text} {rest}".rstrip() + "\n", f"alias {name}", stdin=stdin, same_shell=True)
        finally:
            self.state.aliases[name] = text

    def _dispatch(self, part: Part) -> str:
        """List one command, then let the handler of its program look through it."""
        stdin = part.input
        if part.words and "/" in part.words[0].text and (self.state.links or self.state.programs):
            part = self._original(part)
        self.deadline.step(1 + len(part.words) // 64)
        placed = self.add(part)
        if not placed.words:
            return ""
        text = placed.words[0].text
        body = self.state.functions.get(text)
        if body is not None:
            return self._call(text, body, placed, stdin)
        if not placed.assignments:
            return self._handler(placed)(self, placed)
        self.programs.assignments(self, placed)
        # They hold for this one command, which may be a shell that reads them.
        before = {one.name: self.state.variables.get(one.name) for one in placed.assignments}
        self.state.variables.update((one.name, one.value) for one in placed.assignments)
        try:
            return self._handler(placed)(self, placed)
        finally:
            # Only they: what `read` and its kind set stays.
            for name, value in before.items():
                if value is None:
                    self.state.variables.pop(name, None)
                else:
                    self.state.variables[name] = value

    def _original(self, part: Part) -> Part:
        """The part with the program it really runs, where its path is a link or a copy made in the line."""
        path = plain_path(part.words[0].text, self.state.folder)
        original = self.state.programs.get(path) or followed(path, self.state.links)
        if original == path or original in self.state.files:
            return part
        return replace(part, words=(Word(original), *part.words[1:]))

    def _handler(self, part: Part) -> Handler:
        return self.programs.by_name.get(part.name, self.programs.other)

    def _call(self, name: str, body: Node, part: Part, stdin: str) -> str:
        self.state.called.add(name)
        arguments = tuple(word.text for word in part.arguments)
        if (id(body), arguments) in self._calls:
            return OUTPUT  # it calls itself just as it was called: nothing new would be read
        with _Deeper(self, f"{name}()") as allowed:
            if not allowed:
                return OUTPUT
            self._count(1)
            self._calls.append((id(body), arguments))
            before = self.state.positional
            self.state.positional = arguments
            try:
                return self._run(body, stdin)
            finally:
                self.state.positional = before
                self._calls.pop()

    def split(self, value: str) -> list[str]:
        """A value cut into words by the shell's separators."""
        separators = self.state.variables.get("IFS", " \t\n")
        chunks = split_fields(value, separators if isinstance(separators, str) else " \t\n")
        return [chunk for chunk in chunks if chunk]


class _Deeper:
    """One level further in: a shell in a shell, a script, a function."""

    def __init__(self, reader: Reader, origin: str) -> None:
        self._reader = reader
        self._origin = origin
        self._before = reader.origin

    def __enter__(self) -> bool:
        self._reader._depth += 1
        self._reader.origin = (*self._before, self._origin)
        if self._reader._depth > DEPTH_LIMIT:
            self._reader.faults.append("it goes too deep to be read")
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._reader._depth -= 1
        self._reader.origin = self._before
