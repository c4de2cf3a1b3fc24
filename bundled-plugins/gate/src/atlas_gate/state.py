"""What the shell knows at one point of a line: variables, folder, functions, files written so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from atlas_gate.parts import UNKNOWN, Word
from atlas_gate.path_forms import plain_path
from atlas_gate.syntax import Node

Value: TypeAlias = str | tuple[str, ...]


@dataclass(slots=True)
class State:
    """One shell's state, owned by the reader. A subshell gets a copy."""

    home: str
    folder: str | None
    variables: dict[str, Value] = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    script_name: str = "bash"
    functions: dict[str, Node] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    # Shared between copies on purpose: a file written in a subshell stays written.
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)

    def copy(self) -> State:
        """The state a subshell starts with."""
        return State(
            home=self.home,
            folder=self.folder,
            variables=dict(self.variables),
            positional=self.positional,
            script_name=self.script_name,
            functions=dict(self.functions),
            aliases=dict(self.aliases),
            references=dict(self.references),
            files=self.files,
            links=self.links,
            programs=self.programs,
            called=self.called,
        )

    def lookup(self, name: str) -> Value:
        """A variable's value; an unset one may come from the environment, so it is unknown."""
        name = self.references.get(name, name)
        if name in self.variables:
            return self.variables[name]
        if name == "PWD":
            return self.folder or UNKNOWN
        return UNKNOWN

    def is_set(self, name: str) -> bool:
        """Whether the line itself gave the variable a value."""
        return self.references.get(name, name) in self.variables

    def path(self, word: Word | str) -> str:
        """A path made plain: absolute, without dot segments, doubled slashes or links made in the line."""
        text = word if isinstance(word, str) else word.text
        return plain_path(text, self.folder, self.links)
