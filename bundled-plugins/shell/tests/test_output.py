"""Output made plain and kept within bounds."""

from __future__ import annotations

import random

import pytest

from atlas_shell.environment import command_line, environment
from atlas_shell.output import Kept, Lines


def plain(*pieces: bytes) -> str:
    lines = Lines()
    return "".join(map(lines.feed, pieces)) + lines.rest()


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\nb"], "a\nb"),
        ([b"10%\r20%\r100%\ndone\n"], "100%\ndone\n"),
        ([b"10%\r", b"20%\r", b"\nnext\n"], "20%\nnext\n"),
        ([b"a\r\nb\r", b"\n"], "a\nb\n"),
        ([b"\x1b[31mred\x1b[0m\n"], "red\n"),
        ([b"\x1b[3", b"1mred\x1b]0;title\x07\n"], "red\n"),
        (["hä".encode()[:2], "hä".encode()[2:]], "hä"),
        ([b"\xff\xfe ok\n"], "\ufffd\ufffd ok\n"),
        ([b"a\0b\n"], "ab\n"),
        ([b"cut \xe2\x82"], "cut \ufffd"),
    ],
)
def test_bytes_become_plain_lines(pieces: list[bytes], expected: str) -> None:
    assert plain(*pieces) == expected


def test_pieces_do_not_matter() -> None:
    data = b"\x1b[1mone\x1b[0m\r\ntwo\rthree\n" * 50 + "ä€🙂\n".encode() * 50
    whole = plain(data)
    chance = random.Random(7)
    for _ in range(50):
        cuts = sorted(chance.sample(range(len(data)), 20))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]

        assert plain(*pieces) == whole


def test_a_progress_bar_without_a_line_end_takes_no_memory() -> None:
    lines = Lines()
    for number in range(100_000):
        assert lines.feed(b"\r%d%% of the whole" % number) == ""

    assert lines.rest() == "99999% of the whole"


def test_the_ends_are_kept_and_the_rest_counted() -> None:
    kept = Kept(head=10, tail=10)
    for number in range(100):
        kept.add(f"{number:03}\n")

    assert kept.text() == "000\n001\n00\n[… 380 characters left out …]\n7\n098\n099\n"
    assert kept.last_line() == "099"


def test_a_short_text_is_kept_whole() -> None:
    kept = Kept(head=10, tail=10)
    for letter in "0123456789abcdefghij":
        kept.add(letter)

    assert kept.text() == "0123456789abcdefghij"


def test_powershell_gets_its_command_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    import base64

    monkeypatch.setattr("shutil.which", lambda name: f"C:/{name}.exe" if name == "powershell" else None)
    program, *arguments = command_line('echo "ä"', "win32")

    assert program == "C:/powershell.exe"
    assert '\necho "ä"\n' in base64.b64decode(arguments[-1]).decode("utf-16-le")


def test_names_of_secrets_are_hidden_in_any_case(tmp_path: object) -> None:
    from pathlib import Path

    found = environment({"my_token": "x", "PATH": "/bin"}, home=Path("/h"), mark="m", secrets=["MY_TOKEN"])

    assert "my_token" not in found
    assert (found["PATH"], found["ATLAS_COMMAND"]) == ("/bin", "m")
