"""What this process leaves behind stays known to it, and is let go once it has ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from atlas_gateway.kin import IS_KNOWN

pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="only Linux keeps orphans for whoever asks")

# In a process of its own: whoever keeps orphans once keeps them to its end.
KEEPS = """
import os, socket, subprocess, time
from atlas_gateway.kin import holds_peer, keep_orphans, reap
keep_orphans()
listener = socket.create_server(("127.0.0.1", 0))
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
