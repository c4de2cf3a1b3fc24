"""What this process leaves behind stays known to it, and is let go once it has ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from atlas_gateway.kin import IS_KNOWN

pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="only Linux keeps orphans for whoever asks")

# In a process of its own: whoever keeps orphans once keeps them to its end.
KEEPS = """
import os, socket, subprocess, time
from atlas_gateway.kin import holds_peer
from atlas_sdk.orphans import keep_orphans, reap
keep_orphans()
listener = socket.create_server(("127.0.0.1", 0))
listener.settimeout(10)
port = listener.getsockname()[1]
code = f"import socket, time; s = socket.create_connection(('127.0.0.1', {port})); time.sleep(1)"
subprocess.run(["setsid", "sh", "-c", f'{os.sys.executable} -c "{code}" & exit'], check=True)
ours, address = listener.accept()
print(holds_peer(port, address[1]))
stranger = socket.create_connection(("127.0.0.1", port))
theirs, address = listener.accept()
print(holds_peer(port, address[1]))
first = frozenset()
while not first:
    time.sleep(0.05)
    first = reap(frozenset())
second = reap(first)
print(len(first), len(second), len(reap(frozenset())))
"""


def test_an_orphan_is_known_at_the_other_end_and_let_go_when_it_has_ended() -> None:
    done = subprocess.run([sys.executable, "-c", KEEPS], capture_output=True, text=True, timeout=30, check=False)

    assert done.stdout.splitlines() == ["True", "False", "1 0 0"], done.stderr


HIDES = """
import ctypes, encodings.idna, os, signal, socket, time
from atlas_gateway.kin import holds_peer
if os.geteuid() == 0:  # to root nothing is shut
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)  # as after an exec
listener = socket.create_server(("127.0.0.1", 0))
listener.settimeout(10)
port = listener.getsockname()[1]
hidden = os.fork()
if hidden == 0:
    ctypes.CDLL(None).prctl(4, 0)
    kept = socket.create_connection(("127.0.0.1", port))
    time.sleep(20)
    os._exit(0)
ours, address = listener.accept()
print(holds_peer(port, address[1]))
print(port, flush=True)
theirs, address = listener.accept()
print(holds_peer(port, address[1]))
os.kill(hidden, signal.SIGKILL)
"""


def test_a_program_that_shuts_its_files_is_no_stranger() -> None:
    server = subprocess.Popen([sys.executable, "-c", HIDES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server:
        first, port = server.stdout.readline().strip(), server.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", int(port)), timeout=10):
            second = server.stdout.readline().strip()
        errors = server.communicate(timeout=10)[1]

    assert first == "True", errors
    if os.geteuid() != 0:  # a nobody does not see what root holds
        assert second == "False", errors
