"""What starting costs: a command, a turn without a server and through one, and the server itself."""

from __future__ import annotations

from collections.abc import Iterator

from bench_figure import Bench, Figure, milliseconds
from bench_home import Home, home
from setup import program


def version(bench: Bench) -> Iterator[Figure]:
    yield bench.timed("atlas version", lambda: milliseconds([program("atlas"), "version"]), target="100")


def top_help(bench: Bench) -> Iterator[Figure]:
    yield bench.timed("atlas --help", lambda: milliseconds([program("atlas"), "--help"]), target="250")


def one_turn(bench: Bench) -> Iterator[Figure]:
    with home() as made:
        yield bench.timed("one turn, no server", lambda: made.command("chat", "-p", "hi"), target="1,200")
        with made.server():
            yield bench.timed("one turn, through a server", lambda: made.command("chat", "-p", "hi"), target="300")


def server_up(bench: Bench) -> Iterator[Figure]:
    with home() as made:
        yield bench.timed("server up", lambda: up_ms(made), target="700")


def up_ms(made: Home) -> float:
    """Start a server, stop it, and return how long it took to answer."""
    with made.server() as server:
        return server.up_ms


ROWS = (version, top_help, one_turn, server_up)
