"""Looks through an awk program for what it runs and where it writes. Strings elsewhere are data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from atlas_gate.parts import OUTPUT, is_constant

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\$?\w+|&&|\|\||\|&|>>|[^\s\w]|\n|\$')
_REGEX = re.compile(r"/(?:\\.|\[[^\]\n]*\]|[^/\\\n])++/")
_BEFORE_REGEX = frozenset(("", "(", ",", "~", "!", "{", "}", ";", "&&", "||", "\n"))
_ENDS = frozenset((";", "}", "\n", "|", "|&", ">", ">>", ")", ",", "{"))
# Tokens. An expression is read again for each `system` in it.
_LONGEST_EXPRESSION = 256
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def awk_deeds(
    source: str, values: Mapping[str, str], line: str, step: Callable[[int], None]
) -> list[tuple[str, str, str]]:
    """`("run", text, input)` for each command it runs, `("write", path, "")` for each file it writes, and
    `("open", path, "")` for each it reads by itself.

    `step` may end it by raising.
    """
    tokens = _with_environment(_tokens(source, step), values)
    known = dict(values)
    for at, token in enumerate(tokens[:-2]):
        if tokens[at + 1] == "=" and tokens[at + 2].startswith('"') and re.match(r"[A-Za-z_]", token):
            known[token] = _joined(tokens, at + 2, known, line)
    deeds: list[tuple[str, str, str]] = []
    printed = 0
    depth = 0
    prints = False
    for at, token in enumerate(tokens):
        step(1)
        depth += (token == "(") - (token == ")")
        if token in (";", "}", "\n", "{"):
            prints = False
        elif token in ("print", "printf"):
            prints, depth, printed = True, 0, at + 1
        elif token == "system" and tokens[at + 1 : at + 2] == ["("]:
            deeds.append(("run", _joined(tokens, at + 2, known, line), ""))
        elif token in ("|", "|&") and tokens[at + 1 : at + 2] == ["getline"]:
            deeds.append(("run", _joined(tokens, _start(tokens, at), known, line), ""))
        elif prints and token in ("|", "|&"):
            fed = _joined(tokens, printed, known, line) + "\n"
            deeds.append(("run", _joined(tokens, at + 1, known, line), fed))
        elif token == "<" and "getline" in tokens[max(at - 2, 0) : at]:
            deeds.append(("open", _joined(tokens, at + 1, known, line), ""))
        elif prints and depth <= 0 and token in (">", ">>"):
            deeds.append(("write", _joined(tokens, at + 1, known, line), ""))
    return [deed for deed in deeds if deed[1]]


def _tokens(source: str, step: Callable[[int], None]) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(source):
        step(1)
        match = None
        if source[position] == "#":
            end = source.find("\n", position)
            position = len(source) if end < 0 else end
            continue
        if source[position] == "/" and (tokens[-1] if tokens else "") in _BEFORE_REGEX:
            match = _REGEX.match(source, position)
        match = match or _TOKEN.match(source, position)
        if match is None:
            position += 1
            continue
        tokens.append(match.group())
        position = match.end()
    return tokens


def _with_environment(tokens: list[str], values: Mapping[str, str]) -> list[str]:
    """The tokens with `ENVIRON["NAME"]` put in, where its value is known."""
    found: list[str] = []
    for token in tokens:
        found.append(token)
        if token == "]" and found[-4:-2] == ["ENVIRON", "["] and found[-2].startswith('"'):
            value = values.get(f"ENVIRON {found[-2][1:-1]}")
            if value is not None:
                found[-4:] = [f'"{value}"']
    return found


def _start(tokens: list[str], at: int) -> int:
    """Where the expression in front of `| getline` begins."""
    start = at
    while start and tokens[start - 1] not in _ENDS and tokens[start - 1] not in ("(", "=", "print"):
        start -= 1
    return start


def _joined(tokens: list[str], at: int, known: Mapping[str, str], line: str) -> str:
    """The text of an expression: strings and what is known of names, side by side."""
    pieces: list[str] = []
    end = at + _LONGEST_EXPRESSION
    while at < min(len(tokens), end) and tokens[at] not in _ENDS:
        token = tokens[at]
        at += 1
        if token.startswith('"'):
            pieces.append(_ESCAPE.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), token[1:-1]))
        elif token == "$0" and line and is_constant(line):
            pieces.append(line)
        elif re.match(r"[A-Za-z_$]", token):
            pieces.append(known.get(token, OUTPUT))
        elif token != "(":
            pieces.append(OUTPUT)
    return "".join(pieces)
