"""Recognises a fork bomb by its shape, whatever its name."""

from __future__ import annotations

from atlas_gate.syntax import For, Group, Literal, Loop, Node, Pipeline, Sequence, Simple, Text


def is_fork_bomb(name: str, body: Node) -> bool:
    """Whether a function starts two of itself, or one beside itself, each time it runs."""
    in_pipeline = False
    calls = 0

    def look(node: Node, *, is_piped: bool) -> None:
        nonlocal in_pipeline, calls
        match node:
            case Simple(_, words, _):
                first = words[0] if words else None
                if isinstance(first, Text) and first.pieces == (Literal(name, False),):
                    calls += 1
                    in_pipeline = in_pipeline or is_piped
            case Pipeline(commands):
                for command in commands:
                    look(command, is_piped=True)
            case Sequence(items):
                for item in items:
                    look(item, is_piped=is_piped)
            case Group(inner, origin):
                look(inner, is_piped=is_piped or origin == "&")
            case Loop(condition, inner):
                look(condition, is_piped=is_piped)
                look(inner, is_piped=is_piped)
            case For(_, _, inner):
                look(inner, is_piped=is_piped)
            case _:
                pass

    look(body, is_piped=False)
    return in_pipeline
